import { nameInMail } from './name-in-mail.js';

describe('nameInMail', () => {
  it.each(['Acme', 'Sub & <Co>', 'St. Gallen', 'Größe 12', '写真', 'O’Neill (test)'])('shows %j', (name) => {
    expect(nameInMail(name)).toBe(name);
  });

  it.each([
    ...['pay at https://evil.example', 'evil.example', 'www evil', 'a//b', 'me@evil.example', 'evil．example'],
    ...['evil。example', 'hxxp:evil', 'tel:1', 'Your account is locked, call us now to keep it open'],
  ])('leaves out %j, which a mail program could turn into a link or reads like a message', (name) => {
    expect(nameInMail(name)).toBe('an account');
  });
});
