import { TomlError } from "smol-toml";
import { z } from "zod";
import { messageOf } from "../errors.ts";
import { describeIssue } from "../protocol/describe_input.ts";
import { UsageError } from "./option_table.ts";

/** The text of a TOML file, which errors call `Settings file …`. @throws {UsageError} */
export function readTomlFile(kind: "Settings" | "Markets", path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (thrown) {
    throw new UsageError(`${kind} file ${path} cannot be read: ${messageOf(thrown)}`);
  }
}

/**
 * Calls a function that parses such a file.
 *
 * @throws {UsageError} If the function throws; the message has one line.
 */
export function withTomlErrors<T>(kind: "settings" | "markets", path: string, parse: () => T): T {
  try {
    return parse();
  } catch (thrown) {
    const [reason] = thrown instanceof z.ZodError
      ? [describeIssue(thrown)]
      : messageOf(thrown).split("\n");
    const position = thrown instanceof TomlError
      ? `line ${thrown.line}, column ${thrown.column}: `
      : "";
    throw new UsageError(`Invalid ${kind} file ${path}: ${position}${reason}`);
  }
}
