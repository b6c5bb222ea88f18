"""Card signatures by the Python SDK: to check ours with, and to be checked by us.

    sign.py make FOLDER                  the keys and signed cards that are kept as test data
    sign.py sign CARD KEY.pem ALG KID    prints the card with a signature added
    sign.py verify CARD JWKS             exits with 0 when a signature of the card is right
"""

import json
import pathlib
import sys

from a2a.types import AgentCard
from a2a.utils._jcs import canonicalize
from a2a.utils.signing import create_agent_card_signer, create_signature_verifier
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK, algorithms, api_jws
from jwt.exceptions import PyJWKSetError

ALGORITHMS = ["ES256", "ES384", "RS256", "PS256", "EdDSA"]

FULL = {
    "name": "Fähren \U0001f6a2",
    "description": "Books ferries; \"quotes\", \\ and \u20ac.\nTwo lines.",
    "supportedInterfaces": [
        {"url": "https://a.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {
            "url": "https://a.example/rest",
            "protocolBinding": "HTTP+JSON",
            "protocolVersion": "1.0",
            "tenant": "north",
        },
    ],
    "provider": {"organization": "Ferries", "url": "https://a.example"},
    "version": "1.2.3",
    "documentationUrl": "https://a.example/docs",
    "iconUrl": "https://a.example/icon.png",
    "capabilities": {
        "streaming": True,
        "pushNotifications": False,
        "extensions": [
            {
                "uri": "https://a.example/extension",
                "required": True,
                "params": {
                    "\u20ac": 1,
                    "\r": 0.1,
                    "\ufb33": 1e21,
                    "1": 1e-7,
                    "\U0001f600": -0.0,
                    "\u0080": 4.5,
                    "\u00f6": 333333333.33333329,
                    "nested": [True, [1, "two"]],
                },
            }
        ],
    },
    "securitySchemes": {
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
    },
    "securityRequirements": [{"schemes": {"key": {"list": ["read"]}}}],
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain", "application/json"],
    "skills": [
        {
            "id": "book",
            "name": "Book",
            "description": "Books a ferry.",
            "tags": ["ferries"],
            "examples": ["Hirtshals to Kristiansand"],
        }
    ],
}

# What the SDK leaves out of it means nothing.
SPARSE = {
    "name": "Sparse",
    "description": "",
    "supportedInterfaces": [
        {"url": "https://a.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "version": "1",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "a", "name": "A", "description": "", "tags": ["a"]}],
}

# What the SDK leaves out of it is who may call.
GUARDED = SPARSE | {
    "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
    "securityRequirements": [{"schemes": {"bearer": {}}}],
}

OLDER = {
    "protocolVersion": "0.3.0",
    "name": "Older",
    "description": "A card of A2A 0.3.",
    "url": "https://a.example/",
    "preferredTransport": "JSONRPC",
    "version": "1",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [],
}

UNKNOWN = FULL | {"x-vendor": {"level": "gold"}}


def signed(card, key, algorithm, key_id):
    """The card in ProtoJSON, signed by the SDK."""
    header = {"alg": algorithm, "kid": key_id, "typ": "JOSE"}
    message = create_agent_card_signer(key, header)(ParseDict(card, AgentCard()))
    return MessageToDict(message)


def signed_as_it_is(card, key, algorithm, key_id):
    """The JSON, signed without the SDK's model: for what the model does not know."""
    header = {"alg": algorithm, "kid": key_id, "typ": "JOSE"}
    payload = canonicalize(card).encode()
    protected, _, signature = api_jws.encode(payload, key, algorithm, header).split(".")
    return card | {"signatures": [{"protected": protected, "signature": signature}]}


def make_key(algorithm):
    match algorithm:
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case "ES384":
            return ec.generate_private_key(ec.SECP384R1())
        case "EdDSA":
            return ed25519.Ed25519PrivateKey.generate()
        case _:
            return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def public_pem(key):
    return (
        key.public_key()
        .public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        .decode()
    )


def make(folder):
    folder = pathlib.Path(folder)

    def write(name, value):
        text = value if isinstance(value, str) else json.dumps(value, indent=2) + "\n"
        (folder / name).write_text(text)

    keys, pems = [], {}
    for algorithm in ALGORITHMS:
        key = make_key(algorithm)
        pems[algorithm] = pem(key)
        of_family = algorithms.get_default_algorithms()[algorithm]
        jwk = of_family.to_jwk(key.public_key(), as_dict=True)
        jwk.pop("key_ops", None)
        keys.append(jwk | {"kid": algorithm, "use": "sig", "alg": algorithm})
        write(f"{algorithm}.pem", pems[algorithm])
        write(f"{algorithm}.pub", public_pem(key))
        write(f"{algorithm}.json", signed(FULL, pems[algorithm], algorithm, algorithm))
    write("keys.json", {"keys": keys})
    by = (pems["ES256"], "ES256", "ES256")
    for name, card in {"sparse": SPARSE, "guarded": GUARDED}.items():
        # With its empty values, as another server would hand it out.
        write(f"{name}.json", card | {"signatures": signed(card, *by)["signatures"]})
    for name, card in {"older": OLDER, "unknown": UNKNOWN}.items():
        write(f"{name}.json", signed_as_it_is(card, *by))


def sign(card, key, algorithm, key_id):
    card = json.loads(pathlib.Path(card).read_text())
    key = pathlib.Path(key).read_text()
    print(json.dumps(signed(card, key, algorithm, key_id), indent=2))


def verify(card, keys):
    card = ParseDict(json.loads(pathlib.Path(card).read_text()), AgentCard())
    keys = json.loads(pathlib.Path(keys).read_text())["keys"]

    def provide(key_id, _key_set_url):
        for key in keys:
            if key["kid"] == key_id:
                return PyJWK(key)
        raise PyJWKSetError(f"no key {key_id}")

    create_signature_verifier(provide, ALGORITHMS)(card)


if __name__ == "__main__":
    {"make": make, "sign": sign, "verify": verify}[sys.argv[1]](*sys.argv[2:])
