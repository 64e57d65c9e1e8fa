/** Compares what a command answers with what a document says that it answers. */

/** What differs from run to run, each kind with a pattern for all that it may be. */
const VOLATILE = {
  anything: [/…/, "[^]*"],
  hash: [/0x[1-9a-fA-F][\da-fA-F]{39,}/, "0x[\\da-fA-F]+"],
  port: [/(?<=127\.0\.0\.1:)\d{5}/, "\\d+"],
  milliseconds: [/\b\d+(?= ms\b)/, "\\d+"],
  fraction: [/(?<![\d.])\d+\.\d+\b(?!\.)/, "\\d+(?:\\.\\d+)?"],
  largeNumber: [/\b\d{6,}\b/, "\\d+"],
  sources: [/provider_\w(?:, provider_\w)+/, "\\w+(?:, \\w+)*"],
  result: [/\b(?:won|lost)\b/, "(?:won|lost(?:, the price was [\\d.]+)?)"],
} as const;

const ANY_VOLATILE = new RegExp(
  Object.entries(VOLATILE).map(([kind, [pattern]]) => `(?<${kind}>${pattern.source})`).join("|"),
  "g",
);

/**
 * A pattern for an answer: as a document has it, but for what is volatile, and with the ports of this
 * place in place of those that the document names.
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
