//! JSON Web Tokens (RFC 7519), whoever sends them.

use jsonwebtoken::Algorithm;

/// Algorithms with which whoever can check a signature cannot make one.
pub(crate) const ASYMMETRIC: [Algorithm; 9] = [
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::EdDSA,
];
