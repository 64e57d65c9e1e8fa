import type { CompletedCommand, CompletedOption, CompletedValue } from "./tree.ts";

/**
 * The script for bash, from version 3.2 on (that of macOS). Bash shows no descriptions.
 *
 * @param commands From {@link completedCommands}.
 */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path.length > 0).map(pathPattern);
  return `# Completes rangemaker in bash; made by: rangemaker completion bash
_rangemaker() {
  local IFS=$'\\n' cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  local at= i=1 commands= options=
  COMPREPLY=()
  # To bash, the = of --option=value is a word.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  while ((i < COMP_CWORD)); do
    case "$at \${COMP_WORDS[i]}" in
      ${paths.join(" | ")}) at+=" \${COMP_WORDS[i]}" ;;
      *) break ;;
    esac
    ((i += 1))
  done
  case "$at $prev" in
${commands.flatMap(valueCases).join("\n")}
  esac
  case "$at" in
${commands.map(wordCase).join("\n")}
  esac
  # A command comes before all options.
  if ((i == COMP_CWORD)) && [[ -n $commands && $cur != -* ]]; then options=$commands; fi
  COMPREPLY=($(compgen -W "$options" -- "$cur"))
}
complete -F _rangemaker rangemaker
`;
}

/** The words of a command, each preceded by a space. */
function pathPattern({ path }: CompletedCommand): string {
  return `'${path.map((word) => ` ${word}`).join("")}'`;
}

function wordCase(command: CompletedCommand): string {
  const names = command.subcommands.map(({ name }) => name);
  const flags = command.options.flatMap(({ flags }) =>
    flags.filter((flag) => flag.startsWith("--"))
  );
  return `    ${pathPattern(command)}) commands=${lines(names)} options=${lines(flags)} ;;`;
}

function lines(words: readonly string[]): string {
  return words.length === 0 ? "" : `$'${words.join("\\n")}'`;
}

function valueCases(command: CompletedCommand): string[] {
  return command.options.flatMap((option) => {
    if (option.value === undefined) return [];
    const action = `${completionOf(option.value)}return`;
    // The value may be left out, so the next word may be an option.
    const guarded = option.value.isOptional ? `if [[ $cur != -* ]]; then ${action}; fi` : action;
    return [`    ${flagPatterns(command, option)}) ${guarded} ;;`];
  });
}

function flagPatterns({ path }: CompletedCommand, { flags }: CompletedOption): string {
  const prefix = path.map((word) => ` ${word}`).join("");
  return flags.map((flag) => `'${prefix} ${flag}'`).join(" | ");
}

function completionOf({ kind, choices }: CompletedValue): string {
  if (kind === "choice") return `COMPREPLY=($(compgen -W ${lines(choices)} -- "$cur")); `;
  if (kind === "other") return "";
  const action = kind === "file" ? "-f" : "-d";
  return `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen ${action} -- "$cur")); `;
}
