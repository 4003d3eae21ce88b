import { newRecoveryCodes, newTotpSecret, recoveryHash, totpCode, totpStep, totpUri } from './totp.js';

/** "12345678901234567890", as in RFC 6238, appendix B. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('time-based one-time passwords', () => {
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('are those of RFC 6238 at %i s', (seconds, code) => {
    expect(totpCode(SECRET, Math.floor(seconds / 30))).toBe(code);
    expect(totpStep(SECRET, code, seconds * 1_000)).toBe(Math.floor(seconds / 30));
  });

  it('may be one step early or late, and no more', () => {
    const at = (step: number): number => step * 30_000;
    const code = totpCode(SECRET, 1_000);
    expect([999, 1_000, 1_001].map((step) => totpStep(SECRET, code, at(step)))).toEqual([1_000, 1_000, 1_000]);
    expect([998, 1_002].map((step) => totpStep(SECRET, code, at(step)))).toEqual([undefined, undefined]);
    expect(totpStep(SECRET, '', at(1_000))).toBeUndefined();
    expect(totpStep(SECRET, `${code}0`, at(1_000))).toBeUndefined();
  });

  it('have secrets of 160 bits, in a form that apps read', () => {
    expect(newTotpSecret()).toMatch(/^[A-Z2-7]{32}$/);
    expect(totpUri(SECRET, 'a b@example.org', 'Darkroom')).toBe(
      `otpauth://totp/Darkroom:a%20b%40example.org?secret=${SECRET}&issuer=Darkroom`,
    );
  });
});

describe('recovery codes', () => {
  it('are ten, all different, and stored for one person however they are spelled', () => {
    const codes = newRecoveryCodes();
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
    const [code = ''] = codes;
    const hash = recoveryHash('person_1', code);
    expect(recoveryHash('person_1', ` ${code.toUpperCase().replaceAll('-', ' ')}`)).toEqual(hash);
    expect(recoveryHash('person_2', code)).not.toEqual(hash);
  });
});
