//! The pure planner.
