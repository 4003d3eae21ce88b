import { Setting, Within } from '#config/setting.js';

/** Time limits of a chat, and of reading on after its caller disconnects; and how many an account may have open. */
export class ChatConfig {
  @Setting('CHAT_FIRST_BYTE_TIMEOUT_MS', 'Time limit until a chat provider starts to respond.', {
    who: 'traffic',
    unit: 'ms',
  })
  @Within(100, 600_000)
  readonly firstByteMs: number = 60_000;

  @Setting('CHAT_TOTAL_TIMEOUT_MS', 'Time limit of an entire chat; then its connection is closed.', {
    who: 'traffic',
    unit: 'ms',
  })
  @Within(100, 3_600_000)
  readonly totalMs: number = 600_000;

  @Setting(
    'CHAT_AFTER_HANGUP_MS',
    'How long to keep reading a priced chat after its caller disconnects, to measure its cost; 0 = stop at once and estimate the cost.',
    { who: 'rules', unit: 'ms' },
  )
  @Within(0, 600_000)
  readonly afterHangupMs: number = 30_000;

  @Setting('ACCOUNT_OPEN_CHATS', 'Maximum chats in progress of one account, per API process; 0 = unlimited.', {
    who: 'traffic',
  })
  @Within(0, 1_000_000)
  readonly accountChats: number = 500;
}
