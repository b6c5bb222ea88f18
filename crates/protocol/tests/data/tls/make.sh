#!/bin/sh
# Makes the certificates of the tests, for a hundred years: an authority, an agent on loopback that it
# vouches for, and a client that it vouches for. Test keys, worth nothing.
set -eu
cd "$(dirname "$0")"
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }
key authority
openssl req -new -x509 -key authority.key -subj "/CN=Test authority" -days 36500 -out authority.pem
sign() {
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
    printf '%s\n' "$2" "basicConstraints=CA:FALSE" > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -CAcreateserial \
        -days 36500 -extfile "$1.ext" -out "$1.pem"
    rm "$1.csr" "$1.ext"
}
sign agent "subjectAltName=IP:127.0.0.1,DNS:localhost"
sign client "extendedKeyUsage=clientAuth"
rm -f authority.key authority.srl
