import { statOf } from "../../../lib/files.ts";

/** Linux keeps this folder in memory, so that syncs cost nothing. */
const IN_MEMORY = "/dev/shm";

/** Runs a test with an empty folder. */
export async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const dir = statOf(IN_MEMORY)?.isDirectory ? IN_MEMORY : undefined;
  const folder = await Deno.makeTempDir({ dir });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
