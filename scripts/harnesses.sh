#!/usr/bin/env bash
# Installs the real coding agents that tests drive (Claude Code, pi, an ACP agent), apart from Lichen's own dependencies.
set -euo pipefail
cd "$(dirname "$0")/../test/harnesses"
npm ci --no-audit --no-fund
