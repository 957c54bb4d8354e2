#!/usr/bin/env bash
# Installs the real coding agents that tests drive (Claude Code, pi, an ACP agent), apart from Lichen's own dependencies.
set -euo pipefail
cd "$(dirname "$0")/../test/harnesses"
npm ci --no-audit --no-fund
# It works without its optional parts, which are as large again as many a program.
cd qwen
# Its lock file holds no optional parts, which `npm ci` would ask for.
npm install --omit=optional --no-audit --no-fund
