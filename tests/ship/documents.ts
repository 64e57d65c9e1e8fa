/** The documents of the repository, and every command in them. */
import { fileUrl, readText } from "./support.ts";

function* markdownIn(folder: string, depth: number): Generator<string> {
  for (const { name, isFile, isDirectory } of Deno.readDirSync(fileUrl(folder))) {
    if (isFile && name.endsWith(".md")) yield folder + name;
    if (isDirectory && depth > 0) yield* markdownIn(`${folder}${name}/`, depth - 1);
  }
}

export const DOCUMENTS = [
  ...markdownIn("./", 0),
  ...markdownIn("docs/", 2),
  ...markdownIn("services/", 1),
].map((path) => path.replace("./", "")).toSorted();

export interface DocumentedCommand {
  /** As written, on one line or several, without the prompt. */
  text: string;
  /** The documented output; `…` matches anything. Absent without an output. */
  answer?: string;
}

/** Commands that follow each other in one place of a document. */
export interface Passage {
  document: string;
  chapter: string;
  commands: DocumentedCommand[];
}

const BLOCK = /^```(.*)\n([^]*?)^```$/gm;

/**
 * All commands of a document, in order.
 *
 * @throws {Error} On a block that this cannot read, so that none is skipped.
 */
export function passagesOf(document: string): Passage[] {
  return readText(document).split(/^(?=#+ )/m).flatMap((chapter) => {
    const rest = chapter.replaceAll(BLOCK, "");
    if (rest.includes("```")) throw new Error(`${document}: a block that is no block:\n${rest}`);
    return [
      ...chapter.matchAll(BLOCK).map(([, language = "", text = ""]) =>
        commandsOfBlock(language, text)
      ),
      inlineCommands(rest),
    ].map((commands) => commands.map(withoutQuiet)).filter((commands) => commands.length > 0)
      .map((commands) => ({ document, chapter, commands }));
  });
}

/** `deno task -q` is `deno task` without Deno's own line. */
function withoutQuiet(command: DocumentedCommand): DocumentedCommand {
  return { ...command, text: command.text.replace("task -q ", "task ") };
}

function commandsOfBlock(language: string, text: string): DocumentedCommand[] {
  switch (language) {
    case "console":
      return [...transcript(text)];
    case "ts":
      return [{ text }];
    case "sh":
      return text.split("\n").map((line) => ({ text: line.replace(/\s+#.*$/, "").trim() }))
        .filter((command) => command.text !== "");
    case "":
    case "html":
    case "js":
    case "json":
    case "mermaid":
    case "toml":
      return [];
    default:
      throw new Error(`Unknown language of a block: ${language}`);
  }
}

/** Commands after `$`, with the lines below each as its output. */
function* transcript(text: string): Generator<DocumentedCommand> {
  for (const part of text.split(/^\$ /m).slice(1)) {
    const lines = part.trimEnd().split("\n");
    let end = 1;
    while (end < lines.length && goesOn(lines.slice(0, end).join("\n"))) end += 1;
    const answer = lines.slice(end).join("\n");
    yield { text: lines.slice(0, end).join("\n"), ...(answer === "" ? {} : { answer }) };
  }
}

function goesOn(command: string): boolean {
  return command.endsWith("\\") || (command.match(/'/g)?.length ?? 0) % 2 === 1;
}

/** A command in a sentence, by its beginning. */
const INLINE = /`((?:[A-Z_]+=\S+ )?(?:deno|npx|npm|docker|curl|promtool|rangemaker) [^`]+)`/g;

function inlineCommands(prose: string): DocumentedCommand[] {
  return [...prose.matchAll(INLINE)].map(([, text = ""]) => ({ text: text.replace("\n", " ") }));
}

/** What differs from run to run, each kind with a pattern for all that it may be. */
const VOLATILE = {
  anything: [/…/, "[^]*"],
  hash: [/0x[1-9a-fA-F][\da-fA-F]{39,}/, "0x[\\da-fA-F]+"],
  port: [/(?<=127\.0\.0\.1:)\d{5}/, "\\d+"],
  milliseconds: [/\b\d+(?= ms\b)/, "\\d+"],
  // With the spaces before it: columns are aligned.
  fraction: [/ *(?<![\d.])\d+\.\d+\b(?!\.)/, " *\\d+(?:\\.\\d+)?"],
  largeNumber: [/\b\d{6,}\b/, "\\d+"],
  sources: [/provider_\w(?:, provider_\w)+/, "\\w+(?:, \\w+)*"],
  committed: [/\bcommitted$/, "committed(?:, at a newer quote: .*)?"],
  result: [/\b(?:won|lost)\b/, "(?:won|lost(?:, the price was [\\d.]+)?)"],
} as const;

const ANY_VOLATILE = new RegExp(
  Object.entries(VOLATILE).map(([kind, [pattern]]) => `(?<${kind}>${pattern.source})`).join("|"),
  "gm",
);

/**
 * A pattern for a documented output that allows other times and numbers, with the real ports
 * instead of the documented ones.
 */
export function patternOf(answer: string, relocated: (text: string) => string): RegExp {
  const literal = (text: string) => relocated(text).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  let pattern = "";
  let end = 0;
  for (const { 0: text, index, groups = {} } of answer.matchAll(ANY_VOLATILE)) {
    const found = Object.entries(VOLATILE).find(([kind]) => groups[kind] !== undefined);
    pattern += literal(answer.slice(end, index)) + (found?.[1][1] ?? "");
    end = index + text.length;
  }
  return new RegExp(`^${pattern}${literal(answer.slice(end))}$`);
}
