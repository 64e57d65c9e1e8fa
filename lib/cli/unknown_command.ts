import { Command as Parser, CommanderError } from "commander";
import { oneLine, UsageError } from "./options.ts";

/** The error for a command that there is not, with the name that was probably meant. */
export function unknownCommand(name: string, known: readonly string[]): UsageError {
  const parser = new Parser().exitOverride().configureOutput({ writeErr: () => {} });
  for (const each of known) parser.command(each);
  try {
    parser.parse([name], { from: "user" });
  } catch (thrown) {
    if (thrown instanceof CommanderError) return new UsageError(oneLine(thrown.message));
    throw thrown;
  }
  throw new TypeError(`${name} is a command: expected one that is not known`);
}
