// Package browser tests the page of approvals in a real Chromium.
package browser
