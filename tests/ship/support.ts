import { parse } from "yaml";

const root = new URL("../../", import.meta.url);

/** A file of the project, by its path from the top. */
export function fileUrl(path: string): URL {
  return new URL(path, root);
}

/** The text of a file of the project. */
export function readText(path: string): string {
  return Deno.readTextFileSync(fileUrl(path));
}

/** A YAML file of the project, as the tools read it: with anchors merged. */
export function readYaml(path: string): unknown {
  return parse(readText(path), { merge: true });
}

/** Whether a program of the operating system is there. */
export function hasProgram(name: string): boolean {
  try {
    return new Deno.Command(name, { args: ["--version"], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch {
    return false;
  }
}

/** What the name of a test says where it needs Debian's `prometheus`. */
export const hasPrometheus = hasProgram("promtool") && hasProgram("prometheus");
export const NEEDS_PROMETHEUS = hasPrometheus ? "" : " (left out: no prometheus and promtool here)";

/** Runs a program to its end. */
export async function run(
  name: string,
  args: string[],
  options: Deno.CommandOptions = {},
): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(name, {
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...options,
    args,
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}
