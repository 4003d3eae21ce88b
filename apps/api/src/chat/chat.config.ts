import { Setting, Within } from '#config/setting.js';

export class ChatConfig {
  @Setting('CHAT_CONNECT_TIMEOUT_MS', 'How long making a connection to a chat provider may take.', { unit: 'ms' })
  @Within(50, 60_000)
  readonly connectMs: number = 5_000;

  @Setting('CHAT_FIRST_BYTE_TIMEOUT_MS', 'How long a chat provider may take until it begins to answer.', { unit: 'ms' })
  @Within(100, 600_000)
  readonly firstByteMs: number = 60_000;

  @Setting('CHAT_TOTAL_TIMEOUT_MS', 'How long a chat may take in all; then its connection is cut.', { unit: 'ms' })
  @Within(100, 3_600_000)
  readonly totalMs: number = 600_000;

  @Setting(
    'CHAT_AFTER_HANGUP_MS',
    'How long a chat with a price is read on after its caller has left, to learn what it costs; 0 = not at all, so that it is always estimated.',
    { unit: 'ms' },
  )
  @Within(0, 600_000)
  readonly afterHangupMs: number = 30_000;

  @Setting('CHAT_AFTER_HANGUP_BYTES', 'How many bytes of its answer are read on then.', { unit: 'bytes' })
  @Within(0, 1_073_741_824)
  readonly afterHangupBytes: number = 8_388_608;
}
