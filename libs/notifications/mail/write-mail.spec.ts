import { writeMail } from './write-mail.js';

describe('writeMail', () => {
  it('says the same in plain text and in HTML, in which names are only text', () => {
    const { subject, text, html } = writeMail({
      to: 'kim@example.org',
      subject: 'Join\r\nBcc: x',
      paragraphs: ['From <b>"A" & \'B\'</b>.'],
      links: [{ label: 'Accept', url: 'https://images.example.org/console/invite#token=a&b' }],
      footer: 'You can ignore it.',
    });
    expect(subject).toBe('Join Bcc: x');
    expect(text).toBe(
      'From <b>"A" & \'B\'</b>.\n\nAccept:\nhttps://images.example.org/console/invite#token=a&b\n\n--\nYou can ignore it.\n',
    );
    expect(html).toContain('<p>From &#60;b&#62;&#34;A&#34; &#38; &#39;B&#39;&#60;/b&#62;.</p>');
    expect(html).toContain('<a href="https://images.example.org/console/invite#token=a&#38;b">Accept</a>');
  });
});
