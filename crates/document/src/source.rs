use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::{Diagnostic, Limits, Problems, Span};

/// Holds the text of one file under the name its author knows it by.
///
/// A byte order mark at the start is dropped, so offsets count from the first real character.
/// Cloning is cheap: the text is shared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
    #[serde(skip)]
    line_starts: OnceLock<Arc<[u32]>>,
}

/// Says where in a source something stands, counted from 1 as editors do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Source {
    /// Takes a text that is already in memory under a name such as a path or `<stdin>`.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        Self {
            name: name.into(),
            text: text.strip_prefix('\u{feff}').unwrap_or(text).into(),
            line_starts: OnceLock::new(),
        }
    }

    /// Reads a file, never more of it than `limits.max_bytes`.
    ///
    /// # Errors
    /// `file::unreadable`, also for what is no file but a pipe or a device, `file::too-large` (naming the limit and the size) or `file::not-utf8`
    /// (pointing at the first bad byte).
    pub fn read(path: &Path, limits: &Limits) -> Result<Self, Problems> {
        let name = path.display().to_string();
        let unreadable = |error: &std::io::Error| {
            let diagnostic = Diagnostic::error(
                "file::unreadable",
                format!("`{name}` cannot be read: {}", reason(error)),
            );
            Problems::one(Self::new(&name, ""), diagnostic.help(remedy(error)))
        };
        // What is no file, such as a pipe that nobody writes to, may not even open.
        let kind = std::fs::metadata(path).map_err(|error| unreadable(&error))?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            return Err(no_file(&name));
        }
        let file = File::open(path).map_err(|error| unreadable(&error))?;
        let size =
            file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        if let Some(size) = size.filter(|size| *size > limits.max_bytes as u64) {
            return Err(too_large(&name, Some(size), limits.max_bytes));
        }
        Self::take(&name, file, limits).map_err(|error| match error {
            ReadError::Io(error) => unreadable(&error),
            ReadError::Problems(problems) => problems,
        })
    }

    /// Reads a stream such as standard input, under the same limits as [`Source::read`].
    ///
    /// # Errors
    /// Those of [`Source::read`].
    pub fn read_from(name: &str, reader: impl Read, limits: &Limits) -> Result<Self, Problems> {
        Self::take(name, reader, limits).map_err(|error| match error {
            ReadError::Problems(problems) => problems,
            ReadError::Io(error) => Problems::one(
                Self::new(name, ""),
                Diagnostic::error(
                    "file::unreadable",
                    format!("`{name}` cannot be read: {}", reason(&error)),
                ),
            ),
        })
    }

    fn take(name: &str, reader: impl Read, limits: &Limits) -> Result<Self, ReadError> {
        let mut bytes = Vec::new();
        reader.take(limits.max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
        if bytes.len() > limits.max_bytes {
            return Err(ReadError::Problems(too_large(name, None, limits.max_bytes)));
        }
        decode(name, bytes).map_err(ReadError::Problems)
    }

    /// The name the author knows the source by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text, without a byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty when the span does not fit the source.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The line and column of a byte offset; an offset past the end means the end.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line_index(offset);
        let start = self.starts()[line] as usize;
        let mut end = (offset as usize).clamp(start, self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Position { line: line + 1, column: self.text[start..end].chars().count() + 1 }
    }

    /// Where a span begins, as editors and terminals make a link of it: `name:line:column`.
    #[must_use]
    pub fn place(&self, span: Span) -> String {
        let Position { line, column } = self.position(span.start);
        format!("{}:{line}:{column}", self.name)
    }

    /// How many lines the text has; an empty text has one.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.starts().len()
    }

    /// The line of an offset, counted from 0.
    pub(crate) fn line_index(&self, offset: u32) -> usize {
        self.starts().partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The bytes of lines `first..=last` (from 0), with their line breaks.
    pub(crate) fn lines(&self, first: usize, last: usize) -> Span {
        let starts = self.starts();
        let end = starts.get(last + 1).map_or(self.text.len(), |end| *end as usize);
        Span::new(starts[first] as usize, end)
    }

    /// Lines end as YAML and editors have it: at a line feed, a carriage return, or both together.
    fn starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let bytes = self.text.as_bytes();
            let is_break = |at: &usize| match bytes[*at] {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            let breaks = (0..bytes.len()).filter(is_break);
            std::iter::once(0).chain(breaks.map(|at| Span::new(at + 1, at + 1).start)).collect()
        })
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }
}

impl Eq for Source {}

enum ReadError {
    Io(std::io::Error),
    Problems(Problems),
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

fn decode(name: &str, bytes: Vec<u8>) -> Result<Source, Problems> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(Source::new(name, &text)),
        Err(error) => error,
    };
    let at = error.utf8_error().valid_up_to();
    let byte = error.as_bytes()[at];
    let utf16 =
        error.as_bytes().starts_with(&[0xff, 0xfe]) || error.as_bytes().starts_with(&[0xfe, 0xff]);
    // The text before the bad byte is kept as it is, so the offset still points at the right place.
    let source = Source::new(name, &String::from_utf8_lossy(error.as_bytes()));
    let at =
        at - if error.as_bytes().starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let diagnostic = Diagnostic::error("file::not-utf8", format!("`{name}` is not UTF-8 text"))
        .at(
            Span::new(at, at + '\u{fffd}'.len_utf8()),
            format!("byte 0x{byte:02x} is not part of UTF-8 text"),
        )
        .help(if utf16 {
            "this looks like UTF-16: save the file with the encoding UTF-8"
        } else {
            "save the file with the encoding UTF-8, or remove the byte"
        });
    Err(Problems::one(source, diagnostic))
}

fn no_file(name: &str) -> Problems {
    let message = format!("`{name}` cannot be read: it is a pipe, a socket or a device");
    let help = "write what comes out of it into a file; where a command takes `-`, that is stdin";
    Problems::one(Source::new(name, ""), Diagnostic::error("file::unreadable", message).help(help))
}

fn too_large(name: &str, size: Option<u64>, limit: usize) -> Problems {
    let size = match size {
        Some(size) => format!("{} long", amount(size)),
        None => format!("longer than {}", amount(limit as u64)),
    };
    let diagnostic = Diagnostic::error(
        "file::too-large",
        format!("`{name}` is {size}; the limit for one file is {}", amount(limit as u64)),
    );
    Problems::one(
        Source::new(name, ""),
        diagnostic
            .help("split it, or keep large content in files of its own that are passed as input"),
    )
}

fn amount(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    match bytes {
        0..MEBIBYTE => format!("{bytes} bytes"),
        _ if bytes.is_multiple_of(MEBIBYTE) => format!("{} MiB", bytes / MEBIBYTE),
        _ => {
            format!("{bytes} bytes ({}.{} MiB)", bytes / MEBIBYTE, bytes % MEBIBYTE * 10 / MEBIBYTE)
        }
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::IsADirectory => "it is a folder".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "check the spelling and the folder you are in",
        std::io::ErrorKind::IsADirectory => "name a file inside it",
        std::io::ErrorKind::PermissionDenied => "check who may read it",
        _ => "check that the file is there and readable",
    }
}

#[cfg(test)]
mod tests;
