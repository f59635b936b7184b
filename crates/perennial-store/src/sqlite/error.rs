//! What SQLite says, in the journal's words.

use std::sync::Arc;

use rusqlite::ErrorCode;

use crate::journal::{Cause, ReadError, StoreError};

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        let code = error.sqlite_error_code();
        let error: Cause = Arc::new(error);
        match code {
            Some(ErrorCode::DiskFull) => StoreError::Full(error),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged(error)
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly) => {
                StoreError::Io(error)
            }
            Some(_) | None => StoreError::Database(error),
        }
    }
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> ReadError {
        ReadError::Store(error.into())
    }
}
