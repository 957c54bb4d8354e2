// A newcomer and the real coding agents: pi and Claude Code, each against a provider of the tests' own.

import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ScriptedProvider, startProvider } from "@lichen/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { StartedMachine } from "./machine.ts";
import { Home, repository } from "./process.ts";
