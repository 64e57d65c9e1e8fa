import type { z } from "zod";
import type { OptionKind } from "./option_kinds.ts";
import { RangemakerError } from "../errors.ts";
import { redact } from "../redact.ts";

/** One row of an option table. Without a default the option is optional, unless it is required. */
export interface OptionSpec<K extends OptionKind = OptionKind> {
  /**
   * `-p, --port`; {@link optionTable} adds what follows from the key. The help adds the kind's placeholder
   * unless one is given: `--tape <file>`.
   */
  flags: string;
  kind: K;
  /** Variable that the specification names; see `option_names.ts` for those that all options have. */
  env?: string;
  /** Place in the settings file that the specification names, such as `oracle.timeout_ms`. */
  setting?: string;
  /** Several commands take it with one meaning: one variable or setting is enough for all. */
  shared?: true;
  /** The command that it is named after outside the command line; see `optionsFor`. */
  command?: string;
  description: string;
  /** Text used if neither flag nor variable is given. An empty one is not shown in the help. */
  default?: string;
  /** Default in the help, if the service fills it in later, such as after reading a settings file. */
  shownDefault?: string;
  /** Without a default: a value must be given. */
  required?: true;
  /** May be given several times; the variable and the default are comma-separated lists. */
  repeatable?: true;
}

/**
 * The options of one command, keyed by the camel-case name of their long flag; a repeatable option's
 * key may be that name's plural, with an s.
 */
export type OptionTable = Record<string, OptionSpec>;

/** A table as it is written: without flags where the key says them. */
export type OptionRows = Record<string, Omit<OptionSpec, "flags"> & { flags?: string }>;

/** A table with all flags: those that are not given are made from the key, `--max-risk` of `maxRisk`. */
export function optionTable<T extends OptionRows>(
  rows: T,
): { [K in keyof T]: T[K] & { flags: string } } {
  const named = Object.entries(rows).map(([key, row]) => {
    const flags = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return [key, { flags, ...row }];
  });
  return Object.fromEntries(named); // the same keys, each with its row
}

export type ValueOf<S extends OptionSpec> = S extends { default: string } | { required: true }
  ? z.output<S["kind"]["schema"]>
  : z.output<S["kind"]["schema"]> | undefined;

export type OptionsOf<T extends OptionTable> = { [K in keyof T]: ValueOf<T[K]> };

/** The parts of a help text besides the options. */
export interface CommandText {
  name: string;
  description: string;
  examples: readonly (readonly [commandLine: string, meaning: string])[];
  /** Arguments before the options, such as `[service...]`. */
  operands?: string;
  subcommands?: Readonly<Record<string, { readonly summary: string }>>;
  /** The command whose variables and settings its options are, if not its own. */
  target?: string;
  /** Settings in a section of this command that another command reads, such as `oracle.timeout_ms`. */
  settingsOfOtherServices?: readonly string[];
}

/** Wrong arguments: one line for the user, without keys or passwords, and exit code 2. */
export class UsageError extends RangemakerError {
  constructor(message: string) {
    super("USAGE", redact(message));
  }
}

/** The user asked for help: `message` is the text to print. */
export class HelpRequest extends RangemakerError {
  constructor(text: string) {
    super("HELP", text);
  }
}
