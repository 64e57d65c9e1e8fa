/**
 * Shell completion. `rangemaker completion` prints a short script for a shell; at each Tab that
 * script runs the hidden command `rangemaker complete`, which prints {@link completions}.
 */
import { Command as Parser, type Option } from "commander";
import {
  type CommandEntries,
  createCommand,
  ExitCode,
  loadCommand,
  loadedEntry,
  type RunnableCommand,
} from "./command.ts";
import { addOption, optionOf, type OptionTable } from "./options.ts";

/** For bash from version 3.2 on (that of macOS). To bash, the = of --option=value is a word. */
const bash = `_rangemaker() {
  local IFS=$'\\n' cur=\${COMP_WORDS[COMP_CWORD]} rows
  if [[ $cur == = ]]; then cur=; fi
  rows=$(rangemaker complete "\${COMP_WORDS[@]:1:COMP_CWORD-1}" "$cur" 2>/dev/null | cut -f1)
  case $rows in
    :file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
    :directory) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$rows" -- "$cur")) ;;
  esac
}
complete -F _rangemaker rangemaker`;

/** For zsh, to be sourced or saved as `_rangemaker` in a folder of `$fpath`. */
const zsh = `#compdef rangemaker
_rangemaker() {
  local -a rows=(\${(f)"$(rangemaker complete "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if [[ $words[CURRENT] == --*=* ]]; then compset -P 1 '*='; fi
  case $rows[1] in
    (:file) _files ;;
    (:directory) _files -/ ;;
    (*) rows=("\${(@)rows//:/\\\\:}"); rows=("\${(@)rows/$'\\t'/:}"); _describe completion rows ;;
  esac
}
if [[ $funcstack[1] == _rangemaker ]]; then _rangemaker "$@"; else compdef _rangemaker rangemaker; fi`;

const fish = `function __rangemaker_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l option (string match -r -- '^--[^=]+=' "$word")
    set -l value (string replace -- "$option" '' "$word")
    for row in (rangemaker complete $typed[2..] "$word" 2>/dev/null)
        switch $row
            case :file
                __fish_complete_path "$value"
            case :directory
                __fish_complete_directories "$value"
            case '*'
                printf '%s\\n' $row
        end
    end | string replace -r '^' -- "$option"
end
complete -c rangemaker -f -a '(__rangemaker_complete)'`;

/** Each script, and where to write it for every new shell. */
const SHELLS = {
  bash: [
    bash,
    "~/.local/share/bash-completion/completions/rangemaker",
    "bash-completion is installed",
  ],
  zsh: [zsh, "~/.zfunc/_rangemaker", "~/.zshrc has fpath+=~/.zfunc before compinit"],
  fish: [fish, "~/.config/fish/completions/rangemaker.fish", "that folder exists"],
} as const;

const subcommands = Object.entries(SHELLS).map(([shell, [script, file, condition]]) => {
  const name = `completion ${shell}`;
  const load = shell === "fish" ? `rangemaker ${name} | source` : `source <(rangemaker ${name})`;
  const print = createCommand({
    name,
    description: `Prints the completion script for ${shell}.`,
    options: {},
    examples: [
      [load, "for this shell"],
      [`rangemaker ${name} > ${file}`, `for every shell, if ${condition}`],
    ],
    run(_, context) {
      context.print(script);
      return Promise.resolve(ExitCode.ok);
    },
  });
  return [shell, loadedEntry(`for ${shell}`, print)];
});

/** The command that prints the scripts. */
export const run: RunnableCommand = createCommand({
  name: "completion",
  description: "Prints a script that completes commands, options and their values in a shell.",
  options: {},
  subcommands: Object.fromEntries(subcommands),
  examples: [["rangemaker completion bash --help", "how to install it for bash"]],
});

/**
 * What may stand in place of the last word: words with their meaning after a tab, or `:file` or
 * `:directory`. The shell leaves out what does not match.
 *
 * @param words The words after `rangemaker`, up to the cursor.
 */
export async function completions(
  commands: CommandEntries,
  words: readonly string[],
): Promise<readonly string[]> {
  // Bash separates an option, its = and its value.
  const typed = words.filter((word) => word !== "=")
    .flatMap((word) => word.startsWith("--") ? word.split(/=(.*)/s, 2) : [word]);
  const current = typed.pop() ?? "";
  let options: OptionTable | undefined;
  let subcommands = commands;
  let depth = 0;
  for (const word of typed) {
    if (!Object.hasOwn(subcommands, word)) break;
    const command = await loadCommand(subcommands, word);
    options = command.definition.options;
    subcommands = command.subcommands;
    depth += 1;
  }
  const open = Object.values(options ?? {}).find((spec) => {
    const { short, long, required, optional } = optionOf(spec);
    const takesCurrent = required || (optional && !current.startsWith("-"));
    return takesCurrent && [short, long].includes(typed.at(-1));
  });
  if (open !== undefined) {
    const { completes = [] } = open.kind;
    return typeof completes === "string" ? [`:${completes}`] : completes;
  }
  // A command comes before all options.
  const names = Object.entries(depth === typed.length ? subcommands : {});
  if (names.length > 0 && !current.startsWith("-")) {
    return names.map(([name, { summary }]) => `${name}\t${summary}`);
  }
  return visibleOptions(options).map(({ long, description }) => `${long}\t${description}`);
}

/** The options in the help of a command, or of the program, which has no table. */
export function visibleOptions(options?: OptionTable): readonly Option[] {
  const parser = new Parser().helpOption("-h, --help", "show this help");
  if (options === undefined) parser.version("", "-V, --version", "show the version");
  for (const [key, spec] of Object.entries(options ?? {})) addOption(parser, key, spec);
  return parser.createHelp().visibleOptions(parser);
}
