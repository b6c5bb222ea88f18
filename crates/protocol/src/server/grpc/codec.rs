//! prost's codec, with the one difference that a request that cannot be decoded is the caller's fault.

use std::marker::PhantomData;

use tonic::{
    Status,
    codec::{BufferSettings, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use super::status;
use crate::error::Error;

/// Encodes answers and decodes requests.
pub(super) struct Codec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Codec<T, U> {
        Codec(PhantomData)
    }
}

impl<T, U> tonic::codec::Codec for Codec<T, U>
where
    T: prost::Message + 'static,
    U: prost::Message + Default + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = Answers<T>;
    type Decoder = Requests<U>;

    fn encoder(&mut self) -> Answers<T> {
        Answers(PhantomData)
    }

    fn decoder(&mut self) -> Requests<U> {
        Requests(PhantomData)
    }
}

pub(super) struct Answers<T>(PhantomData<T>);

impl<T: prost::Message> Encoder for Answers<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, item: T, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(buffer).map_err(|error| {
            status(&Error::internal(format!("the answer cannot be encoded: {error}")))
        })
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

pub(super) struct Requests<U>(PhantomData<U>);

impl<U: prost::Message + Default> Decoder for Requests<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        let decoded = U::decode(buffer).map_err(|error| {
            status(&Error::invalid_field("request", format!("cannot be decoded: {error}")))
        });
        decoded.map(Some)
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}
