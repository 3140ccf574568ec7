//! Writes small HPROF files, record by record.

use std::path::PathBuf;

pub struct Writer {
    pub bytes: Vec<u8>,
    id_size: usize,
    strings: u64,
}

/// Values and records are big-endian; `id` is as wide as the file says.
pub struct Body(pub Vec<u8>, usize);

impl Body {
    pub fn u1(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub fn u2(mut self, value: u16) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn u4(mut self, value: u32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn id(mut self, value: u64) -> Self {
        self.0.extend(&value.to_be_bytes()[8 - self.1..]);
        self
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// A class dump of the boot loader; fields are name ids and type codes.
    pub fn class(
        self,
        id: u64,
        super_class: u64,
        statics: &[(u64, u8, &[u8])],
        fields: &[(u64, u8)],
    ) -> Self {
        self.loaded_class(id, [super_class, 0, 0, 0], statics, fields)
    }

    /// A class dump; `linked` are superclass, loader, signers and protection domain.
    pub fn loaded_class(
        self,
        id: u64,
        linked: [u64; 4],
        statics: &[(u64, u8, &[u8])],
        fields: &[(u64, u8)],
    ) -> Self {
        let mut body = self.u1(0x20).id(id).u4(0);
        for linked in linked {
            body = body.id(linked);
        }
        body = body.id(0).id(0).u4(0).u2(0).u2(statics.len() as u16);
        for &(name, ty, value) in statics {
            body = body.id(name).u1(ty).bytes(value);
        }
        body = body.u2(fields.len() as u16);
        fields
            .iter()
            .fold(body, |body, &(name, ty)| body.id(name).u1(ty))
    }

    pub fn instance(self, id: u64, class: u64, data: &[u8]) -> Self {
        self.u1(0x21)
            .id(id)
            .u4(0)
            .id(class)
            .u4(data.len() as u32)
            .bytes(data)
    }

    pub fn objects(self, id: u64, class: u64, elements: &[u64]) -> Self {
        let body = self
            .u1(0x22)
            .id(id)
            .u4(0)
            .u4(elements.len() as u32)
            .id(class);
        elements
            .iter()
            .fold(body, |body, &element| body.id(element))
    }

    /// An array of primitives of a type code; `data` are its elements, big-endian.
    pub fn primitives(self, id: u64, ty: u8, length: u32, data: &[u8]) -> Self {
        self.u1(0x23).id(id).u4(0).u4(length).u1(ty).bytes(data)
    }
}

impl Writer {
    pub fn new(format: &str, id_size: usize) -> Self {
        let mut bytes = format.as_bytes().to_vec();
        bytes.push(0);
        bytes.extend((id_size as u32).to_be_bytes());
        bytes.extend(1_700_000_000_000u64.to_be_bytes());
        Writer {
            bytes,
            id_size,
            strings: 0,
        }
    }

    pub fn body(&self) -> Body {
        Body(Vec::new(), self.id_size)
    }

    pub fn record(&mut self, tag: u8, body: Body) {
        self.record_of_length(tag, body.0.len() as u32, &body.0);
    }

    /// A record whose length field says something of its own.
    pub fn record_of_length(&mut self, tag: u8, length: u32, body: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend(0u32.to_be_bytes());
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend(body);
    }

    /// A string and its id.
    pub fn string(&mut self, text: &str) -> u64 {
        self.strings += 1;
        let id = 0x9000 + self.strings;
        self.record(1, self.body().id(id).bytes(text.as_bytes()));
        id
    }

    /// Names a class.
    pub fn load_class(&mut self, id: u64, name: &str) {
        let name = self.string(name);
        self.record(2, self.body().u4(id as u32).id(id).u4(0).id(name));
    }

    pub fn write(&self) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heap.hprof");
        std::fs::write(&path, &self.bytes).unwrap();
        (folder, path)
    }
}
