import { csv } from './csv.js';

describe('csv', () => {
  it('quotes what needs quotes', () => {
    expect(
      csv([
        ['a', 1, null],
        ['b"c', 'd,e', 'f\ng'],
      ]),
    ).toBe('a,1,\r\n"b""c","d,e","f\ng"\r\n');
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx'])('shows %j as a text', (text) => {
    expect(csv([[text]])).toMatch(/^"?'/);
  });
});
