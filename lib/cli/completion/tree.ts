/** Commands as shells complete them, built from the option tables. */
import { Option } from "commander";
import type { CommandEntries } from "../command.ts";
import { flagsOf, type OptionSpec, type OptionTable } from "../options.ts";

export interface CompletedValue {
  name: string;
  /** The value may be left out. */
  isOptional: boolean;
  kind: "choice" | "file" | "directory" | "other";
  /** All possible values, if its kind is `choice`. */
  choices: readonly string[];
}

export interface CompletedOption {
  /** `-p` and `--port`, the long one last. */
  flags: readonly string[];
  description: string;
  /** Undefined for a flag. */
  value?: CompletedValue;
  isRepeatable: boolean;
}

export interface CompletedCommand {
  /** The words of the command; none for the program itself. */
  path: readonly string[];
  options: readonly CompletedOption[];
  subcommands: readonly { name: string; summary: string }[];
}

const HELP: CompletedOption = {
  flags: ["-h", "--help"],
  description: "show this help",
  isRepeatable: false,
};

const VERSION: CompletedOption = {
  flags: ["-V", "--version"],
  description: "show the version",
  isRepeatable: false,
};

/** The program and all its commands, each before its subcommands. Loads all of them. */
export async function completedCommands(commands: CommandEntries): Promise<CompletedCommand[]> {
  const program = { path: [], options: [HELP, VERSION], subcommands: summaries(commands) };
  return [program, ...await subcommandsOf([], commands)];
}

async function subcommandsOf(
  path: readonly string[],
  commands: CommandEntries,
): Promise<CompletedCommand[]> {
  const found = Object.entries(commands).map(async ([name, entry]) => {
    const { run: { definition, subcommands } } = await entry.open();
    const own: CompletedCommand = {
      path: [...path, name],
      options: [...optionsOf(definition.options), HELP],
      subcommands: summaries(subcommands),
    };
    return [own, ...await subcommandsOf(own.path, subcommands)];
  });
  return (await Promise.all(found)).flat();
}

function summaries(commands: CommandEntries): CompletedCommand["subcommands"] {
  return Object.entries(commands).map(([name, { summary }]) => ({ name, summary }));
}

function optionsOf(table: OptionTable): CompletedOption[] {
  return Object.values(table).flatMap((spec) => {
    const { short, long } = new Option(flagsOf(spec));
    const option = {
      flags: [short, long].filter((flag) => flag !== undefined),
      description: spec.description,
      value: valueOf(spec),
      isRepeatable: spec.repeatable === true,
    };
    if (!spec.kind.negatable) return [option];
    const off = `--no-${long?.slice("--".length)}`;
    return [option, {
      flags: [off],
      description: `same as ${long}=false`,
      isRepeatable: false,
    }];
  });
}

/** The value of an option: its name as in the help, and the completions of its kind. */
function valueOf(spec: OptionSpec): CompletedValue | undefined {
  const [, bracket, name] = /([<[])([^>\]]+)[>\]]/.exec(flagsOf(spec)) ?? [];
  if (name === undefined) return undefined;
  const { completes = "other" } = spec.kind;
  const isOptional = bracket === "[";
  if (typeof completes === "string") return { name, isOptional, kind: completes, choices: [] };
  return { name, isOptional, kind: "choice", choices: completes };
}
