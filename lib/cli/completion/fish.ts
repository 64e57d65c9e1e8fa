import type { CompletedCommand, CompletedOption, CompletedValue } from "./tree.ts";

/**
 * The script for fish.
 *
 * @param commands From {@link completedCommands}.
 */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path.length > 0)
    .map(({ path }) => quoted(path.join(" ")));
  return `# Completes rangemaker in fish; made by: rangemaker completion fish
function __rangemaker_command --description 'The command typed so far'
    set -l words (commandline -opc)
    set -e words[1]
    set -l command
    for word in $words
        contains -- (string join -- ' ' $command $word) ${paths.join(" ")}; or break
        set -a command $word
    end
    string join -- ' ' $command
end
function __rangemaker_at --description 'Whether this command is typed'
    set -l command (__rangemaker_command)
    test "$command" = "$argv"
end
function __rangemaker_next --description 'Whether a subcommand of this one is next'
    __rangemaker_at $argv; and test (count (commandline -opc)) -eq (math (count $argv) + 1)
end
complete -c rangemaker -f
${commands.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, options, subcommands }: CompletedCommand): string[] {
  const at = ["__rangemaker_at", ...path].join(" ");
  const next = ["__rangemaker_next", ...path].join(" ");
  return [
    ...subcommands.map(({ name, summary }) =>
      `complete -c rangemaker -n '${next}' -a ${name} -d ${quoted(summary)}`
    ),
    ...options.map((option) => `complete -c rangemaker -n '${at}' ${optionText(option)}`),
  ];
}

function optionText({ flags, description, value }: CompletedOption): string {
  const names = flags.map((flag) =>
    flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`
  );
  return [...names, ...(value ? [argumentOf(value)] : []), `-d ${quoted(description)}`].join(" ");
}

function argumentOf({ kind, choices, isOptional }: CompletedValue): string {
  if (kind === "choice") return `${isOptional ? "-f" : "-x"} -a ${quoted(choices.join(" "))}`;
  if (kind === "file") return "-r -F";
  if (kind === "directory") return "-x -a '(__fish_complete_directories)'";
  return "-x";
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
