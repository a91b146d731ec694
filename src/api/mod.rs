//! Custom resources and nothing else.
