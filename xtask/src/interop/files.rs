//! A file of 10 MB, and whoever serves it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use anyhow::{Context as _, Result};

/// Its name.
pub(super) const NAME: &str = "ten-megabytes.txt";
/// What SHA-256 makes of it; the contract of `a2a-proof` has the same.
pub(super) const SHA256: &str = "a00ee79c2811b40812d757fb353b70657a188a145649e65cc0e7635e604b2954";
const BYTES: usize = 10_000_000;
const LINE: &[u8] = b"0123456789abcdef\n";

/// Serves the file under every path, on a port of this machine, as long as this process lives.
pub(super) struct FileServer {
    url: String,
}

/// Its bytes.
pub(super) fn content() -> Vec<u8> {
    LINE.iter().copied().cycle().take(BYTES).collect()
}

/// Writes it into a folder.
///
/// # Errors
/// When that cannot be written to.
pub(super) fn write(folder: &Path) -> Result<PathBuf> {
    let path = folder.join(NAME);
    fs::write(&path, content()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

impl FileServer {
    /// # Errors
    /// When there is no port.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("there is no free port")?;
        let address = listener.local_addr().context("a bound socket has an address")?;
        let content = Arc::new(content());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let content = Arc::clone(&content);
                // Who hangs up early misses the rest.
                thread::spawn(move || drop(answer(stream, &content)));
            }
        });
        Ok(Self { url: format!("http://{address}/{NAME}") })
    }

    /// Where the file is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

fn answer(mut stream: TcpStream, content: &[u8]) -> std::io::Result<()> {
    for line in BufReader::new(stream.try_clone()?).lines() {
        if line?.is_empty() {
            break;
        }
    }
    let length = content.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    )?;
    stream.write_all(content)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::process;

    #[test]
    fn the_file_is_what_the_contract_says() {
        let contract = process::root().join("tests/interop/proof-large.yaml");
        let contract = fs::read_to_string(contract).expect("it is ours");
        assert!(contract.contains(&format!("sha256: {SHA256}")), "another hash");
        assert!(contract.contains(&format!("size_bytes: {BYTES}")), "another size");
        assert!(contract.contains(&format!("files: [{NAME}]")), "another name");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = write(folder.path()).expect("the folder is ours");
        let hash = process::output(process::command("sha256sum").arg(path));
        assert!(hash.expect("coreutils are there").starts_with(SHA256));
    }

    #[test]
    fn the_file_is_served_whole() {
        let server = FileServer::start().expect("there is a port");
        let address = server.url().trim_start_matches("http://").trim_end_matches(NAME);
        let address = address.trim_end_matches('/');
        let mut stream = TcpStream::connect(address).expect("it listens");
        write!(stream, "GET /{NAME} HTTP/1.1\r\nHost: x\r\n\r\n").expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it closes");
        assert!(answer.ends_with(&content()), "{} bytes", answer.len());
    }
}
