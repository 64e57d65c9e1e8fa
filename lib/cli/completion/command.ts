/** `rangemaker completion`: completion scripts, generated from the option tables of all commands. */
import {
  command,
  type CommandEntries,
  type CommandEntry,
  ExitCode,
  loadedEntry,
  type RunnableCommand,
} from "../command.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { type CompletedCommand, completedCommands } from "./tree.ts";
import { zshScript } from "./zsh.ts";

interface Shell {
  script: (commands: readonly CompletedCommand[]) => string;
  examples: readonly (readonly [commandLine: string, meaning: string])[];
}

const SHELLS: Readonly<Record<string, Shell>> = {
  bash: {
    script: bashScript,
    examples: [
      [
        "source <(rangemaker completion bash)",
        "for this shell; put it in ~/.bashrc for every shell",
      ],
      [
        "rangemaker completion bash > ~/.local/share/bash-completion/completions/rangemaker",
        "for every shell, if the package bash-completion is installed",
      ],
    ],
  },
  zsh: {
    script: zshScript,
    examples: [
      [
        "source <(rangemaker completion zsh)",
        "for this shell; put it in ~/.zshrc after compinit for every shell",
      ],
      [
        "rangemaker completion zsh > ~/.zfunc/_rangemaker",
        "for every shell, if ~/.zshrc has fpath+=~/.zfunc before compinit",
      ],
    ],
  },
  fish: {
    script: fishScript,
    examples: [
      ["rangemaker completion fish | source", "for this shell"],
      [
        "rangemaker completion fish > ~/.config/fish/completions/rangemaker.fish",
        "for every shell",
      ],
    ],
  },
};

/** The completion command for all commands, itself included. */
export function completionOf(commands: CommandEntries): { run: RunnableCommand } {
  const shells = Object.entries(SHELLS).map(([name, shell]): [string, CommandEntry] => {
    return [name, loadedEntry(`for ${name}`, shellCommand(name, shell, commands))];
  });
  return {
    run: command({
      name: "completion",
      description:
        "Prints a script that completes commands, options and their values in a shell. The script " +
        "is self-contained: completing a word does not run rangemaker.",
      options: {},
      subcommands: Object.fromEntries(shells),
      examples: [["rangemaker completion bash --help", "how to install it for bash"]],
    }),
  };
}

function shellCommand(name: string, shell: Shell, commands: CommandEntries): RunnableCommand {
  return command({
    name: `completion ${name}`,
    description: `Prints the completion script for ${name}.`,
    options: {},
    examples: shell.examples,
    async run(_, context) {
      context.print(shell.script(await completedCommands(commands)).trimEnd());
      return ExitCode.ok;
    },
  });
}
