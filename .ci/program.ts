const decoder = new TextDecoder();

/** How much of its output an error shows. */
const OUTPUT_CHARS_MAX = 4_000;

/** Runs a program to its end. @returns Its standard output. @throws {Error} With what it printed. */
export async function runProgram(name: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(name, { args, stdin: "null" }).output();
  if (code === 0) return decoder.decode(stdout).trim();
  const text = (decoder.decode(stdout) + decoder.decode(stderr)).slice(-OUTPUT_CHARS_MAX);
  throw new Error(`${name} ${args.join(" ")}: exit code ${code}\n${text}`);
}
