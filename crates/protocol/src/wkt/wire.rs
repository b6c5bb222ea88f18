//! The binary form of `Struct` and `Value`, straight to and from `serde_json`, and that of `Timestamp`.
//!
//! Protobuf's numbers are doubles: an integer beyond 2^53 loses its last digits
//! here, and only here.

use prost::DecodeError;
use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType, encoded_len_varint};
use serde_json::{Map, Value as Json};

use super::{
    Timestamp,
    json::{MAX_DEPTH, Struct, TooDeep, Value},
};

/// Field numbers of `google.protobuf.Struct`, of the entries of its map, of
/// `ListValue`, of `Value` and of `Timestamp`.
mod tag {
    pub(super) const STRUCT_FIELDS: u32 = 1;
    pub(super) const ENTRY_KEY: u32 = 1;
    pub(super) const ENTRY_VALUE: u32 = 2;
    pub(super) const LIST_VALUES: u32 = 1;
    pub(super) const NULL: u32 = 1;
    pub(super) const NUMBER: u32 = 2;
    pub(super) const STRING: u32 = 3;
    pub(super) const BOOL: u32 = 4;
    pub(super) const STRUCT: u32 = 5;
    pub(super) const LIST: u32 = 6;
    pub(super) const SECONDS: u32 = 1;
    pub(super) const NANOS: u32 = 2;
}

/// The largest integer below which doubles miss none.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Message for Struct {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        encode_struct(&self.0, buf);
    }

    fn encoded_len(&self) -> usize {
        struct_len(&self.0)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        let levels = MAX_DEPTH - 1;
        Reader { levels }.struct_field(&mut self.0, tag, wire_type, buf, ctx)
    }
}

impl Message for Value {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        encode_value(&self.0, buf);
    }

    fn encoded_len(&self) -> usize {
        value_len(&self.0)
    }

    fn clear(&mut self) {
        self.0 = Json::Null;
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        let levels = MAX_DEPTH;
        Reader { levels }.value_field(&mut self.0, tag, wire_type, buf, ctx)
    }
}

impl Message for Timestamp {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if self.seconds != 0 {
            encoding::int64::encode(tag::SECONDS, &self.seconds, buf);
        }
        if self.nanos != 0 {
            encoding::int32::encode(tag::NANOS, &self.nanos, buf);
        }
    }

    fn encoded_len(&self) -> usize {
        let seconds = match self.seconds {
            0 => 0,
            seconds => encoding::int64::encoded_len(tag::SECONDS, &seconds),
        };
        let nanos = match self.nanos {
            0 => 0,
            nanos => encoding::int32::encoded_len(tag::NANOS, &nanos),
        };
        seconds + nanos
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            tag::SECONDS => encoding::int64::merge(wire_type, &mut self.seconds, buf, ctx)?,
            tag::NANOS => encoding::int32::merge(wire_type, &mut self.nanos, buf, ctx)?,
            _ => return encoding::skip_field(wire_type, tag, buf, ctx),
        }
        self.check().map_err(|why| refused(why.to_string()))
    }
}

// Lengths are computed anew at each level; MAX_DEPTH bounds what that costs.

fn delimited_len(len: usize) -> usize {
    1 + encoded_len_varint(len as u64) + len
}

fn struct_len(map: &Map<String, Json>) -> usize {
    let entries = map.iter();
    entries.map(|(key, value)| delimited_len(entry_len(key, value))).sum()
}

fn entry_len(key: &str, value: &Json) -> usize {
    delimited_len(key.len()) + delimited_len(value_len(value))
}

fn list_len(items: &[Json]) -> usize {
    items.iter().map(|item| delimited_len(value_len(item))).sum()
}

fn value_len(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) => 2,
        Json::Number(_) => 9,
        Json::String(text) => delimited_len(text.len()),
        Json::Object(map) => delimited_len(struct_len(map)),
        Json::Array(items) => delimited_len(list_len(items)),
    }
}

fn encode_header(tag: u32, len: usize, buf: &mut impl BufMut) {
    encoding::encode_key(tag, WireType::LengthDelimited, buf);
    encoding::encode_varint(len as u64, buf);
}

fn encode_struct(map: &Map<String, Json>, buf: &mut impl BufMut) {
    for (key, value) in map {
        encode_header(tag::STRUCT_FIELDS, entry_len(key, value), buf);
        encoding::string::encode(tag::ENTRY_KEY, key, buf);
        encode_header(tag::ENTRY_VALUE, value_len(value), buf);
        encode_value(value, buf);
    }
}

fn encode_value(value: &Json, buf: &mut impl BufMut) {
    match value {
        Json::Null => encoding::int32::encode(tag::NULL, &0, buf),
        Json::Number(number) => {
            let double = number.as_f64().expect("every JSON number has a nearest double");
            encoding::double::encode(tag::NUMBER, &double, buf);
        }
        Json::String(text) => encoding::string::encode(tag::STRING, text, buf),
        Json::Bool(truth) => encoding::bool::encode(tag::BOOL, truth, buf),
        Json::Object(map) => {
            encode_header(tag::STRUCT, struct_len(map), buf);
            encode_struct(map, buf);
        }
        Json::Array(items) => {
            encode_header(tag::LIST, list_len(items), buf);
            for item in items {
                encode_header(tag::LIST_VALUES, value_len(item), buf);
                encode_value(item, buf);
            }
        }
    }
}

/// Reads with so many levels left. The levels stand in for prost's own limit,
/// which counts several messages for one level of JSON.
#[derive(Clone, Copy)]
struct Reader {
    levels: usize,
}

impl Reader {
    fn deeper(self) -> Result<Self, DecodeError> {
        match self.levels.checked_sub(1) {
            Some(levels) => Ok(Self { levels }),
            None => Err(refused(TooDeep.to_string())),
        }
    }

    fn struct_field<B: Buf>(
        self,
        map: &mut Map<String, Json>,
        tag: u32,
        wire_type: WireType,
        buf: &mut B,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        if tag != tag::STRUCT_FIELDS {
            return encoding::skip_field(wire_type, tag, buf, ctx);
        }
        encoding::check_wire_type(WireType::LengthDelimited, wire_type)?;
        let mut entry = (String::new(), Json::Null);
        encoding::merge_loop(&mut entry, buf, ctx, |entry, buf, ctx| {
            self.entry_field(entry, buf, ctx)
        })?;
        map.insert(entry.0, entry.1);
        Ok(())
    }

    fn entry_field<B: Buf>(
        self,
        entry: &mut (String, Json),
        buf: &mut B,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        let (tag, wire_type) = encoding::decode_key(buf)?;
        match tag {
            tag::ENTRY_KEY => encoding::string::merge(wire_type, &mut entry.0, buf, ctx),
            tag::ENTRY_VALUE => self.value(&mut entry.1, wire_type, buf, ctx),
            _ => encoding::skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn list_field<B: Buf>(
        self,
        items: &mut Vec<Json>,
        buf: &mut B,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        let (tag, wire_type) = encoding::decode_key(buf)?;
        if tag != tag::LIST_VALUES {
            return encoding::skip_field(wire_type, tag, buf, ctx);
        }
        let mut item = Json::Null;
        self.value(&mut item, wire_type, buf, ctx)?;
        items.push(item);
        Ok(())
    }

    fn value<B: Buf>(
        self,
        value: &mut Json,
        wire_type: WireType,
        buf: &mut B,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        encoding::check_wire_type(WireType::LengthDelimited, wire_type)?;
        encoding::merge_loop(value, buf, ctx, |value, buf, ctx| {
            let (tag, wire_type) = encoding::decode_key(buf)?;
            self.value_field(value, tag, wire_type, buf, ctx)
        })
    }

    fn value_field<B: Buf>(
        self,
        value: &mut Json,
        tag: u32,
        wire_type: WireType,
        buf: &mut B,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        *value = match tag {
            tag::NULL => {
                encoding::int32::merge(wire_type, &mut 0, buf, ctx)?;
                Json::Null
            }
            tag::NUMBER => {
                let mut number = 0.0;
                encoding::double::merge(wire_type, &mut number, buf, ctx)?;
                json_number(number)?
            }
            tag::STRING => {
                let mut text = String::new();
                encoding::string::merge(wire_type, &mut text, buf, ctx)?;
                Json::String(text)
            }
            tag::BOOL => {
                let mut truth = false;
                encoding::bool::merge(wire_type, &mut truth, buf, ctx)?;
                Json::Bool(truth)
            }
            tag::STRUCT => self.object(wire_type, buf, ctx)?,
            tag::LIST => self.array(wire_type, buf, ctx)?,
            _ => return encoding::skip_field(wire_type, tag, buf, ctx),
        };
        Ok(())
    }

    fn object<B: Buf>(
        self,
        wire_type: WireType,
        buf: &mut B,
        ctx: DecodeContext,
    ) -> Result<Json, DecodeError> {
        encoding::check_wire_type(WireType::LengthDelimited, wire_type)?;
        let inner = self.deeper()?;
        let mut map = Map::new();
        encoding::merge_loop(&mut map, buf, ctx, |map, buf, ctx| {
            let (tag, wire_type) = encoding::decode_key(buf)?;
            inner.struct_field(map, tag, wire_type, buf, ctx)
        })?;
        Ok(Json::Object(map))
    }

    fn array<B: Buf>(
        self,
        wire_type: WireType,
        buf: &mut B,
        ctx: DecodeContext,
    ) -> Result<Json, DecodeError> {
        encoding::check_wire_type(WireType::LengthDelimited, wire_type)?;
        let inner = self.deeper()?;
        let mut items = Vec::new();
        encoding::merge_loop(&mut items, buf, ctx, |items, buf, ctx| {
            inner.list_field(items, buf, ctx)
        })?;
        Ok(Json::Array(items))
    }
}

/// Whole numbers come back as integers, so that `5` stays `5` through gRPC.
fn json_number(number: f64) -> Result<Json, DecodeError> {
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Ok(Json::from(number as i64));
    }
    match serde_json::Number::from_f64(number) {
        Some(number) => Ok(Json::Number(number)),
        None => Err(refused("JSON has no number for infinities and NaN".to_owned())),
    }
}

#[expect(
    deprecated,
    reason = "prost offers no other way to refuse a value in a hand-written message"
)]
fn refused(why: String) -> DecodeError {
    DecodeError::new(why)
}
