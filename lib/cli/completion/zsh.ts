import type { CompletedCommand, CompletedOption, CompletedValue } from "./tree.ts";

/**
 * The script for zsh, to be sourced or saved as `_rangemaker` in a folder of `$fpath`.
 *
 * @param commands From {@link completedCommands}.
 */
export function zshScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path.length > 0).map(pathPattern);
  return `#compdef rangemaker
# Completes rangemaker in zsh; made by: rangemaker completion zsh
_rangemaker() {
  local at=
  local -a commands
  integer i=2
  while (( i < CURRENT )); do
    case "$at $words[i]" in
      (${paths.join("|")}) at+=" $words[i]" ;;
      (*) break ;;
    esac
    (( i += 1 ))
  done
  # A command comes before all options.
  if (( i == CURRENT )) && [[ $words[CURRENT] != -* ]]; then
    case "$at" in
${commands.filter(({ subcommands }) => subcommands.length > 0).map(commandCase).join("\n")}
    esac
    if (( $#commands )); then
      _describe -t commands command commands
      return
    fi
  fi
  words=("\${(@)words[i-1,-1]}")
  (( CURRENT -= i - 2 ))
  case "$at" in
${commands.map(optionCase).join("\n")}
  esac
}
if [[ $funcstack[1] == _rangemaker ]]; then
  _rangemaker "$@"
else
  compdef _rangemaker rangemaker
fi
`;
}

function pathPattern({ path }: CompletedCommand): string {
  return `'${path.map((word) => ` ${word}`).join("")}'`;
}

function commandCase(command: CompletedCommand): string {
  const rows = command.subcommands.map(({ name, summary }) => quoted(`${name}:${summary}`));
  return `      (${pathPattern(command)}) commands=(${rows.join(" ")}) ;;`;
}

function optionCase(command: CompletedCommand): string {
  const specs = command.options.flatMap(specsOf).map((spec) => `        ${spec}`);
  return `    (${pathPattern(command)})\n      _arguments -S : \\\n${
    specs.join(" \\\n")
  }\n      ;;`;
}

/** An option for `_arguments`, once for each of its flags. */
function specsOf({ flags, description, value, isRepeatable }: CompletedOption): string[] {
  const prefix = isRepeatable ? "*" : flags.length > 1 ? `(${flags.join(" ")})` : "";
  const explanation = `[${description.replace(/[[\]\\]/g, "\\$&")}]`;
  return flags.map((flag) => {
    const suffix = value === undefined ? "" : flag.startsWith("--") ? "=" : "+";
    return quoted(`${prefix}${flag}${suffix}${explanation}${value ? argumentOf(value) : ""}`);
  });
}

function argumentOf({ name, isOptional, kind, choices }: CompletedValue): string {
  const action = {
    choice: `(${choices.join(" ")})`,
    file: "_files",
    directory: "_files -/",
    other: " ",
  }[kind];
  return `${isOptional ? "::" : ":"}${name.replaceAll(":", "\\:")}:${action}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
