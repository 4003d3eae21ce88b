const NAME = Buffer.from('"content_filter"');
/** How a chat completion, and a response, say that the provider stopped it for its content; in the model's text, quotes are escaped. */
const STOPPED = /"(?:finish_reason|incomplete_details"\s*:\s*\{\s*"reason)"\s*:\s*$/;
/** Bytes before the name that are read. */
const BEFORE = 64;
/** Bytes of what arrived before that may belong to what arrives next. */
const SEAM = BEFORE + NAME.length;

/** Searches an answer, as it arrives, for the provider's word that it stopped it for its content. */
export class FilteredAnswer {
  found = false;
  private end: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    if (this.found) return;
    const seam = Buffer.concat([this.end, chunk.subarray(0, SEAM)]);
    this.found = tellsStop(seam) || tellsStop(chunk);
    this.end = chunk.length < SEAM ? seam.subarray(-SEAM) : Buffer.from(chunk.subarray(-SEAM));
  }
}

function tellsStop(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(NAME); at !== -1; at = bytes.indexOf(NAME, at + 1)) {
    if (STOPPED.test(bytes.toString('latin1', Math.max(0, at - BEFORE), at))) return true;
  }
  return false;
}
