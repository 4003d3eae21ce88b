import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { ApiConfig } from '../api.config.js';
import { BodyMemory, BodyReservation } from './body-memory.js';
import { readForm } from './read-form.js';

const DISPOSITION = 'content-disposition: form-data';

/** The texts of a form with these parts, each `<headers>\r\n\r\n<content>`, by name. */
async function read(...parts: string[]): Promise<Record<string, string>> {
  const body = [...parts.map((part) => `--b\r\n${part}\r\n`), '--b--\r\n'].join('');
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  const payload = Object.assign(Readable.from([Buffer.from(body, 'latin1')]), { headers, complete: true });
  const hold = new BodyReservation(new BodyMemory({ ...new ApiConfig(), bodyMemory: 10_000_000 }), 'one');
  const texts: Record<string, string> = {};
  return await readForm({ payload: payload as unknown as IncomingMessage, maxBytes: 1_000_000, hold }, () => ({
    isFile: () => false,
    file: (_name, stream) => void stream.resume(),
    text: (name, value) => {
      texts[name] = value;
    },
    abandon: () => undefined,
    settled: () => Promise.resolve(),
    result: () => texts,
  }));
}

// These know more about a part than Busboy tells: see docs/decisions/2026-11-28-private-parts.md.
describe('the parts of a form that Busboy has no event for', () => {
  const good = `${DISPOSITION}; name="a"\r\n\r\none`;
  const skipped = 'x: y\r\n\r\ntwo';

  it.each([
    ['first', [skipped, good]],
    ['between others', [good, skipped, good]],
    ['last', [good, skipped]],
    ['alone', [skipped]],
  ])('refuse the form: %s', async (_place, parts) => {
    await expect(read(...parts)).rejects.toMatchObject({
      code: 'invalid_multipart',
      message: 'A part of the form has no valid Content-Disposition header.',
    });
  });

  it('are none in a form whose parts are all named', async () => {
    expect(await read(good, `${DISPOSITION}; name="b"\r\n\r\ntwo`)).toEqual({ a: 'one', b: 'two' });
  });

  it('leave the other headers of a part: each text is read in its own charset', async () => {
    const typed = (name: string, charset: string, text: string): string =>
      `${DISPOSITION}; name="${name}"\r\ncontent-type: text/plain; charset=${charset}\r\n\r\n${text}`;
    const texts = await read(typed('a', 'iso-8859-1', '\xfc'), good, typed('b', 'utf-8', '\xc3\xbc'));
    expect(texts).toEqual({ a: 'one', b: 'ü' });
    expect(await read(typed('c', 'iso-8859-1', '\xfc'))).toEqual({ c: 'ü' });
  });

  it('leave the other headers of a part: one that would have to be decoded is refused', async () => {
    const encoded = `${DISPOSITION}; name="b"\r\ncontent-transfer-encoding: base64\r\n\r\nb25l`;
    await expect(read(good, encoded)).rejects.toMatchObject({
      message: 'The part b has the transfer encoding base64; send it as it is.',
    });
  });
});
