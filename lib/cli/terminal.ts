/** Lines, progress and password prompts on a terminal. */
import { UsageError } from "./options.ts";

/** Replaces the progress line on a terminal; an empty text clears it. */
export type ShowProgress = (text: string) => void;

/** The parts of a terminal that drawing needs. */
interface ProgressTerminal {
  isTerminal(): boolean;
  writeSync(bytes: Uint8Array): number;
}

/** Assumed width of a terminal that reports none, or 0. */
const COLUMNS = 80;

const BAR_WIDTH = 40;

const encoder = new TextEncoder();

/**
 * Draws progress on a terminal, and nothing on a file or a pipe.
 *
 * @param columns Current width; longer lines are cut, since a wrapped line cannot be replaced.
 */
export function progressOn(
  terminal: ProgressTerminal,
  columns: () => number,
): ShowProgress {
  if (!terminal.isTerminal()) return () => {};
  let drawn = "";
  return (text) => {
    const width = columns() || COLUMNS;
    const line = [...text].slice(0, width - 1).join("");
    if (line === drawn) return;
    const blank = " ".repeat(Math.max(0, drawn.length - line.length));
    const end = line === "" ? "\r" : "";
    terminal.writeSync(encoder.encode(`\r${line}${blank}${end}`));
    drawn = line;
  };
}

/** A progress bar as text: `████░░░░ 50 % of 10 slots`. */
export function progressBar(done: number, total: number, unit: string): string {
  const share = total === 0 ? 1 : done / total;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${bar} ${Math.floor(share * 100)} % of ${total} ${unit}`;
}

/** The parts of a terminal that asking needs. */
interface Keyboard {
  isTerminal(): boolean;
  setRaw(raw: boolean): void;
  read(buffer: Uint8Array): Promise<number | null>;
}

/**
 * Asks a question, and reads the answer up to the Enter key without showing it.
 *
 * @throws {UsageError} If there is no terminal, or the user gives up with Ctrl-C or Ctrl-D.
 */
export async function askSecret(
  question: string,
  keyboard: Keyboard,
  screen: Pick<ProgressTerminal, "writeSync">,
): Promise<string> {
  if (!keyboard.isTerminal()) {
    throw new UsageError("Missing --keystore-password-file: there is no terminal to ask on");
  }
  keyboard.setRaw(true); // before the question: an answer may follow it at once
  try {
    screen.writeSync(encoder.encode(question));
    return await readHiddenLine(keyboard);
  } finally {
    keyboard.setRaw(false);
    screen.writeSync(encoder.encode("\n"));
  }
}

async function readHiddenLine(keyboard: Keyboard): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(256);
  const typed: string[] = [];
  while (true) {
    const length = await keyboard.read(buffer);
    const text = length === null ? "\x04" : decoder.decode(buffer.slice(0, length), {
      stream: true,
    });
    for (const letter of text) {
      if (letter === "\r" || letter === "\n") return typed.join("");
      if (letter === "\x03" || letter === "\x04") throw new UsageError("Cancelled");
      if (letter === "\x7f" || letter === "\b") typed.pop();
      else typed.push(letter);
    }
  }
}

/**
 * Escapes control characters, which could move the cursor or change the terminal: a line may quote
 * what an exchange or another service has answered. Ends of lines, tabs and colours stay.
 */
export function printable(text: string): string {
  return text.replace(/\p{Cc}(\[\d*m)?/gu, (found, color: string | undefined) => {
    const control = found.charAt(0);
    const stays = control === "\n" || control === "\t" || control === "\x1b" && color !== undefined;
    if (stays) return found;
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}${color ?? ""}`;
  });
}
