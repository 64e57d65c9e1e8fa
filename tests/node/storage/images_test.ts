/** What the image of a price ring writes, and what it reads back. */
import assert from "node:assert/strict";
import { openOnDisk } from "../../../services/node/storage/files.ts";
import { PriceFile } from "../../../services/node/storage/images.ts";
import { withFolder } from "../../support/with_folder.ts";
import { ETH } from "../support/actors.ts";

const SLOTS = 16;
const RECORD_BYTES = 20;
/** The time of slot 0 of the ring. */
const START = 1_700_000_000_000 - 1_700_000_000_000 % (100 * SLOTS);

/** Runs a test with an image of {@link SLOTS} slots, and the number of bytes written to it. */
async function withImage(
  test: (parts: { path: string; open: () => PriceFile; written: () => number }) => void,
): Promise<void> {
  await withFolder((folder) => {
    const path = `${folder}/ETH-USDT.ring`;
    let bytes = 0;
    const openFile = (path: string) => {
      const file = openOnDisk(path);
      const write = file.writeSync.bind(file);
      const writeSync = (some: Uint8Array) => {
        const taken = write(some);
        bytes += taken;
        return taken;
      };
      return Object.assign(file, { writeSync });
    };
    const written = () => {
      const since = bytes;
      bytes = 0;
      return since;
    };
    test({ path, open: () => PriceFile.open(path, ETH, SLOTS, openFile), written });
    return Promise.resolve();
  });
}

/** Fills the whole ring. */
function fill(image: PriceFile): void {
  for (let slot = 0; slot < SLOTS; slot++) image.ring.append(START + 100 * slot, BigInt(slot + 1));
  image.flush();
  image.close();
}

Deno.test("PriceFile: a flush writes the slots since the last one, over the end of the ring too", () =>
  withImage(({ open, written }) => {
    const image = open();
    assert.deepEqual([written(), image.damagedSlots], [SLOTS * RECORD_BYTES, SLOTS]);
    const flush = (slots: number[]) => {
      for (const slot of slots) image.ring.append(START + 100 * slot, BigInt(slot + 1));
      image.flush();
      return written() / RECORD_BYTES;
    };
    flush([13]);
    assert.deepEqual([flush([14, 15, 16]), flush([]), flush([17]), flush([60])], [3, 0, 1, SLOTS]);
    const last = [59, 60, 61].map((slot) => image.ring.at(START + 100 * slot));
    image.close();
    const again = open();
    assert.deepEqual([written(), again.damagedSlots, again.ring.newest], [0, 0, START + 6_000]);
    assert.deepEqual([59, 60, 61].map((slot) => again.ring.at(START + 100 * slot)), last);
    again.close();
  }));

Deno.test("PriceFile: reads every slot of a full ring, and counts each damaged one", () =>
  withImage(({ path, open }) => {
    fill(open());
    const whole = Deno.readFileSync(path);
    const damages: [what: string, damage: (bytes: Uint8Array) => Uint8Array, lost: number[]][] = [
      ["nothing", (bytes) => bytes, []],
      ["a flipped bit", (bytes) => (bytes[5 * RECORD_BYTES + 9]! ^= 1, bytes), [5]],
      ["no checksum", (bytes) => bytes.fill(0, 6 * RECORD_BYTES - 4, 6 * RECORD_BYTES), [5]],
      ["a moved slot", (bytes) => bytes.copyWithin(100, 80, 100), [5]],
      ["a cut slot", (bytes) => bytes.slice(0, -1), [15]],
      ["more bytes", (bytes) => new Uint8Array([...bytes, 1, 2, 3]), []],
    ];
    for (const [what, damage, lost] of damages) {
      Deno.writeFileSync(path, damage(whole.slice()));
      const image = open();
      const times = Array.from({ length: SLOTS }, (_, slot) => START + 100 * slot);
      const missing = times.flatMap((time, slot) => image.ring.at(time) === undefined ? slot : []);
      image.close();
      assert.deepEqual([missing, image.damagedSlots], [lost, lost.length], what);
      if (what === "a cut slot") assert.equal(Deno.statSync(path).size, whole.length);
    }
  }));

Deno.test("PriceFile: an image of another number of slots is refused", () =>
  withImage(({ path, open }) => {
    fill(open());
    assert.throws(() => PriceFile.open(path, ETH, 2 * SLOTS), /has 16 slots: set ring_buffer_size/);
    assert.throws(() => PriceFile.open(path, ETH, SLOTS / 2), { code: "DATA_DIR" });
  }));
