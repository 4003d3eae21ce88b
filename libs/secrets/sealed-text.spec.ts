import { TextSealer, UnreadableSecret } from './sealed-text.js';

const OLD = 'o'.repeat(40);
const NEW = 'n'.repeat(40);
const sealer = new TextSealer({ secretKey: OLD }, 'tests');

describe('TextSealer', () => {
  it('gives back what it sealed, and never seals alike twice', () => {
    const first = sealer.seal('row_1', 'whsec_öffentlich');
    const second = sealer.seal('row_1', 'whsec_öffentlich');
    expect(sealer.open('row_1', first)).toBe('whsec_öffentlich');
    expect(first.sealed.equals(second.sealed)).toBe(false);
    expect(first.sealed.toString('latin1')).not.toContain('whsec_');
  });

  it('opens for no other row, no other purpose, and nothing that was changed', () => {
    const text = sealer.seal('row_1', 'secret');
    const changed = Buffer.from(text.sealed);
    changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
    expect(() => sealer.open('row_2', text)).toThrow(UnreadableSecret);
    expect(() => sealer.open('row_1', { ...text, sealed: changed })).toThrow(UnreadableSecret);
    expect(() => sealer.open('row_1', { ...text, sealed: text.sealed.subarray(0, 20) })).toThrow(UnreadableSecret);
    expect(() => new TextSealer({ secretKey: OLD }, 'others').open('row_1', text)).toThrow(UnreadableSecret);
  });

  it('opens what the key before this one sealed, and says that it is to be sealed again', () => {
    const text = sealer.seal('row_1', 'secret');
    const rotated = new TextSealer({ secretKey: NEW, secretKeyPrevious: OLD }, 'tests');
    expect(rotated.open('row_1', text)).toBe('secret');
    expect(rotated.isOutdated(text)).toBe(true);
    expect(rotated.isOutdated(rotated.seal('row_1', 'secret'))).toBe(false);
    expect(() => new TextSealer({ secretKey: NEW }, 'tests').open('row_1', text)).toThrow(UnreadableSecret);
  });
});
