/** Commands as a shell completes them, read from their option tables. */
import { Option } from "commander";
import { z } from "zod";
import type { CommandEntries } from "../command.ts";
import type { OptionSpec, OptionTable } from "../options.ts";

/** What an option takes. */
export interface CompletedValue {
  /** As the help calls it. */
  name: string;
  /** The option may also stand alone. */
  isOptional: boolean;
  kind: "choice" | "file" | "folder" | "other";
  /** All that it can be, where its kind is `choice`. */
  choices: readonly string[];
}

/** One option of a command. */
export interface CompletedOption {
  /** `-p` and `--port`: the long one last. */
  flags: readonly string[];
  description: string;
  /** Undefined for a switch. */
  value?: CompletedValue;
  isRepeatable: boolean;
}

/** One command. */
export interface CompletedCommand {
  /** Words that lead to it: none for the program itself. */
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

/** The program and all its commands, each before those below it. Loads every one of them. */
export async function completedCommands(commands: CommandEntries): Promise<CompletedCommand[]> {
  const program = { path: [], options: [HELP, VERSION], subcommands: summaries(commands) };
  return [program, ...await below([], commands)];
}

async function below(
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
    return [own, ...await below(own.path, subcommands)];
  });
  return (await Promise.all(found)).flat();
}

function summaries(commands: CommandEntries): CompletedCommand["subcommands"] {
  return Object.entries(commands).map(([name, { summary }]) => ({ name, summary }));
}

function optionsOf(table: OptionTable): CompletedOption[] {
  return Object.values(table).flatMap((spec) => {
    const { short, long } = new Option(spec.flags);
    const option = {
      flags: [short, long].filter((flag) => flag !== undefined),
      description: spec.description,
      value: valueOf(spec),
      isRepeatable: spec.repeatable ?? false,
    };
    if (!spec.negatable) return [option];
    const off = `--no-${long?.slice("--".length)}`;
    return [option, {
      flags: [off],
      description: `same as ${long}=false`,
      isRepeatable: false,
    }];
  });
}

/** What an option takes, told by what its flags call it and by its schema. */
function valueOf({ flags, schema }: OptionSpec): CompletedValue | undefined {
  const [, bracket, name] = /([<[])([^>\]]+)[>\]]/.exec(flags) ?? [];
  if (name === undefined) return undefined;
  const choices = name === "boolean" ? ["true", "false"] : choicesOf(schema);
  return { name, isOptional: bracket === "[", kind: kindOf(name, choices), choices };
}

function kindOf(name: string, choices: readonly string[]): CompletedValue["kind"] {
  if (choices.length > 0) return "choice";
  if (name.split("|").includes("file")) return "file";
  return name === "path" ? "folder" : "other";
}

/** The values of an enumeration, wherever it stands in a schema; none where there is none. */
function choicesOf(schema: z.core.$ZodType): readonly string[] {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  if (schema instanceof z.ZodPipe) {
    const { in: input, out: output } = schema;
    return choicesOf(input).concat(choicesOf(output));
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return choicesOf(schema.unwrap());
  }
  return [];
}
