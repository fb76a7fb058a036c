// Package browser tests the approvals page in a real Chromium.
package browser
