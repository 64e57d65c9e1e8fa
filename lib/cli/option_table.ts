import type { z } from "zod";
import type { OptionKind } from "./option_kinds.ts";
import { RangemakerError } from "../errors.ts";
import { redact } from "../redact.ts";

/** One row of an option table. Without a default the option is optional, unless it is required. */
export interface OptionSpec<K extends OptionKind = OptionKind> {
  /**
   * `-p, --port`; {@link optionTable} derives missing flags from the key. The help adds the kind's
   * placeholder unless the flags have one: `--tape <file>`.
   */
  flags: string;
  kind: K;
  /** The specification's variable; `option_names.ts` computes the variables of all options. */
  env?: string;
  /** Key in the settings file named in the specification, such as `oracle.timeout_ms`. */
  setting?: string;
  /** The option means the same in several commands: one variable or setting serves all of them. */
  shared?: true;
  /** The command whose words begin its variable and setting; see `optionsFor`. */
  command?: string;
  description: string;
  /** Text used without a flag, variable or setting. The help does not show an empty default. */
  default?: string;
  /** A value must be given; excludes a default. */
  required?: true;
  /** May be given several times; the variable and the default are comma-separated lists. */
  repeatable?: true;
}

/**
 * The options of one command, keyed by the camel-case name of their long flag; a repeatable
 * option's key may be that name's plural, with an s.
 */
export type OptionTable = Record<string, OptionSpec>;

/** A table as written in the source: rows may omit flags that follow from their key. */
export type OptionRows = Record<string, Omit<OptionSpec, "flags"> & { flags?: string }>;

/** Completes the flags of a table: `maxRisk` without flags gets `--max-risk`. */
export function optionTable<T extends OptionRows>(
  rows: T,
): { [K in keyof T]: T[K] & { flags: string } } {
  const named = Object.entries(rows).map(([key, row]) => {
    const flags = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return [key, { flags, ...row }];
  });
  return Object.fromEntries(named); // the same keys, each with its row
}

type ValueOf<S extends OptionSpec> = S extends { default: string } | { required: true }
  ? z.output<S["kind"]["schema"]>
  : z.output<S["kind"]["schema"]> | undefined;

export type OptionsOf<T extends OptionTable> = { [K in keyof T]: ValueOf<T[K]> };

/** The parts of a help text besides the options. */
export interface CommandText {
  name: string;
  description: string;
  examples: readonly (readonly [commandLine: string, meaning: string])[];
  subcommands?: Readonly<Record<string, { readonly summary: string }>>;
  /** The command whose variables and settings the options use, if not this one. */
  target?: string;
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
