import { slackBody, type AlertMessage } from './alert-message.js';

const message: AlertMessage = {
  id: 'evt_1',
  object: 'event',
  type: 'alert.firing',
  created_at: 0,
  timestamp: '1970-01-01T00:00:00.000Z',
  data: {
    alert_id: 'ale_1',
    kind: 'budget',
    subject: 'Key',
    started_at: null,
    resolved_at: null,
    title: 'Key <!channel> & co',
    text: '1 > 0',
    url: 'https://darkroom.example/console/keys',
  },
};

describe('slackBody', () => {
  it('keeps names from being commands of Slack, and links to the cause', () => {
    expect(slackBody(message)).toEqual({
      text: 'Key &lt;!channel&gt; &amp; co',
      blocks: [
        { type: 'section', text: { type: 'mrkdwn', text: ':red_circle: *Key &lt;!channel&gt; &amp; co*' } },
        { type: 'section', text: { type: 'mrkdwn', text: '1 &gt; 0' } },
        { type: 'section', text: { type: 'mrkdwn', text: '<https://darkroom.example/console/keys|Open in Darkroom>' } },
      ],
    });
  });
});
