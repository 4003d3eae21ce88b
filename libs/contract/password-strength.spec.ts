import { passwordStrength } from './password-strength.js';

const PERSONAL = ['Ada Lovelace', 'ada.lovelace@example.org'];

describe('passwordStrength', () => {
  it.each([
    ['password1234', 'It is similar to a common password.'],
    ['P@ssw0rd!2026', undefined],
    ['aaaaaaaaaaaaaaaa', 'It repeats a character.'],
    ['qwertyuiop12', undefined],
    ['trustno1trustno1trustno1', 'It repeats a few characters.'],
    ['ada.lovelace@example.org', 'It contains your name, your email address or the name of this service.'],
    ['lovelace1234', undefined],
    ['Darkroom2026!', undefined],
  ])('refuses %s', async (password, weakness) => {
    const strength = await passwordStrength(password, PERSONAL);
    expect(strength.enough).toBe(false);
    if (weakness !== undefined) expect(strength).toMatchObject({ weakness });
  });

  it.each(['correct horse battery', 'x7#kPq9!mLw2', 'ada likes umbrella sandwiches', 'jemand öffnet fünf Türen'])(
    'takes %s',
    async (password) => {
      expect(await passwordStrength(password, PERSONAL)).toMatchObject({ enough: true });
    },
  );

  it('looks at no more than the beginning of a long one', async () => {
    const hard = '1l|!7+$5@4zZ@4$3!0xX'.repeat(13).slice(0, 256);
    const beginning = await passwordStrength(hard.slice(0, 40), []);
    const whole = await passwordStrength(hard, []);
    expect(whole).toEqual(beginning);
    expect(await passwordStrength(`${'a'.repeat(60)} umbrella sandwiches`, [])).toMatchObject({ enough: false });
  });
});
