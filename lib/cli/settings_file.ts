/** The settings file of `--config`: TOML with shared options first, then a section per command. */
import { parse, type TomlTable, type TomlValue } from "smol-toml";
import { didYouMean } from "./did_you_mean.ts";
import { type CommandText, type OptionSpec, type OptionTable, UsageError } from "./option_table.ts";
import { SHARED_OPTIONS } from "./shared_options.ts";
import { readTomlFile, withTomlErrors } from "./toml_file.ts";
import { COMMAND_NAMES, settingsOf } from "./option_names.ts";

/**
 * Keys of the section that two commands read: of the oracle, and of the node about its oracle (spec:
 * "Write node settings"). Each accepts those of the other.
 */
export const ORACLE_SECTION = [
  // Of the oracle.
  "port",
  "host",
  "allowed_hosts",
  "cors_origins",
  "providers",
  "markets",
  "check",
  "aggregation",
  "min_sources",
  "provider_url",
  "max_source_age_ms",
  "config",
  "json_logs",
  "log_level",
  // Of the node.
  "ring_buffer_size",
  "max_stale_ms",
  "service_url",
  "timeout_ms",
].map((key) => `oracle.${key}`);

export class SettingsFile {
  readonly #path: string;
  readonly #table: TomlTable;

  private constructor(path: string, table: TomlTable) {
    this.#path = path;
    this.#table = table;
  }

  /** @throws {UsageError} If it cannot be read or is not TOML; the message has one line. */
  static read(path: string): SettingsFile {
    const text = readTomlFile("Settings", path);
    const table = withTomlErrors("settings", path, () => parse(text, { integersAsBigInt: true }));
    return new SettingsFile(path, table);
  }

  /** Where an option is set in the file, and its text as on a command line. */
  find(spec: OptionSpec): { source: string; value: string | string[] } | undefined {
    for (const keys of settingsOf(spec)) {
      const value = this.#at(keys);
      if (value === undefined) continue;
      const texts = textsOf(value);
      return {
        source: `${keys.join(".")} in settings file ${this.#path}`,
        value: spec.repeatable ? texts : texts.join(","),
      };
    }
    return undefined;
  }

  /**
   * Checks that the command's part of the file has no unknown key. Other commands check their own
   * sections, except for settings that this command reads.
   *
   * @param table Its options, named by `optionsFor`.
   * @throws {UsageError} With the unknown key.
   */
  requireKnown(
    { name, target = name }: CommandText,
    table: OptionTable,
  ): void {
    const specs = [...Object.values(table), ...SHARED_OPTIONS];
    const section = target.replaceAll(" ", ".");
    const known = new Set([
      ...specs.flatMap((spec) => settingsOf(spec).map((keys) => keys.join("."))),
      ...ORACLE_SECTION,
    ]);
    const names: readonly string[] = COMMAND_NAMES;
    for (const [key, value] of Object.entries(this.#table)) {
      if (!names.includes(key) && !known.has(key)) {
        this.#refuse(`Unknown key ${key}${didYouMean(key, [...names, ...known])}`);
      }
      if (names.includes(key) && !isTable(value)) this.#refuse(`${key}: Expected a section`);
    }
    const sections = specs.flatMap(({ setting }) => setting === undefined ? [] : [setting])
      .map((setting) => setting.slice(0, setting.lastIndexOf(".")));
    for (const prefix of new Set([section, ...sections])) {
      const part = this.#at(prefix.split("."));
      for (const [key, value] of isTable(part) ? Object.entries(part) : []) {
        // A nested section belongs to a subcommand.
        if (known.has(`${prefix}.${key}`) || isTable(value)) continue;
        const own = [...known].filter((each) => each.startsWith(`${prefix}.`));
        const hint = didYouMean(key, own.map((each) => each.slice(prefix.length + 1)));
        this.#refuse(`${prefix}: Unknown key ${key}${hint}`);
      }
    }
  }

  #refuse(reason: string): never {
    throw new UsageError(`Invalid settings file ${this.#path}: ${reason}`);
  }

  #at(keys: readonly string[]): TomlValue | undefined {
    let value: TomlValue | undefined = this.#table;
    for (const key of keys) {
      if (!isTable(value) || !Object.hasOwn(value, key)) return undefined;
      value = value[key];
    }
    return value;
  }
}

function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === "object" && !Array.isArray(value) && !(value instanceof Date);
}

/** A value as on a command line; a table is a list of `key=value`. */
function textsOf(value: TomlValue): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (isTable(value)) {
    return Object.entries(value).flatMap(([key, each]) => textsOf(each).map((t) => `${key}=${t}`));
  }
  return [value instanceof Date ? value.toISOString() : String(value)];
}
