import { Setting, Within } from '#config/setting.js';

/** Time limits of a chat, and how much of its response is still read after the caller disconnects. */
export class ChatConfig {
  @Setting('CHAT_CONNECT_TIMEOUT_MS', 'Time limit for connecting to a chat provider.', { unit: 'ms' })
  @Within(50, 60_000)
  readonly connectMs: number = 5_000;

  @Setting('CHAT_FIRST_BYTE_TIMEOUT_MS', 'Time limit until a chat provider starts to respond.', { unit: 'ms' })
  @Within(100, 600_000)
  readonly firstByteMs: number = 60_000;

  @Setting('CHAT_TOTAL_TIMEOUT_MS', 'Time limit of an entire chat; then its connection is closed.', { unit: 'ms' })
  @Within(100, 3_600_000)
  readonly totalMs: number = 600_000;

  @Setting(
    'CHAT_AFTER_HANGUP_MS',
    'How long to keep reading a priced chat after its caller disconnects, to measure its cost; 0 = stop at once and estimate the cost.',
    { unit: 'ms' },
  )
  @Within(0, 600_000)
  readonly afterHangupMs: number = 30_000;

  @Setting('CHAT_AFTER_HANGUP_BYTES', 'Maximum bytes to read from a chat after its caller disconnects.', {
    unit: 'bytes',
  })
  @Within(0, 1_073_741_824)
  readonly afterHangupBytes: number = 8_388_608;

  @Setting('ACCOUNT_OPEN_CHATS', 'Maximum chats in progress of one account, per API process; 0 = unlimited.')
  @Within(0, 1_000_000)
  readonly accountChats: number = 500;
}
