//go:build tools

// Package tools keeps etcd among this module's requirements.
package tools

import _ "go.etcd.io/etcd/server/v3"
