/** The parts of a help text besides the options. */
import type { CommandText } from "./option_table.ts";
import { variableNamed } from "./variables.ts";

export function examplesText(text: CommandText): string {
  if (text.examples.length === 0) return "";
  const rows = text.examples.map(([line, meaning]) => `  ${line}\n      ${meaning}`);
  return `\nExamples:\n${rows.join("\n")}`;
}

export function usageOf({ operands, subcommands = {} }: CommandText): string {
  const words = operands ?? (Object.keys(subcommands).length > 0 ? "[command]" : undefined);
  return words === undefined ? "[options]" : `${words} [options]`;
}

export function subcommandsText({ name, subcommands = {} }: CommandText): string {
  const rows = Object.entries(subcommands);
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map(([command]) => command.length));
  const lines = rows.map(([command, { summary }]) => `  ${command.padEnd(width)}  ${summary}`);
  return `\nCommands, each with its own --help (rangemaker ${name} <command>):\n${
    lines.join("\n")
  }\n`;
}

export function variablesText({ name, target = name }: CommandText): string {
  const prefix = variableNamed(target);
  return `\nWithout its flag an option is read from its variable, ${prefix}_…, or from section ` +
    `[${target.replaceAll(" ", ".")}]\nof the settings file.\n`;
}
