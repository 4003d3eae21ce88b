import { ApiProperty } from '@nestjs/swagger';

/** That a webhook has arrived; its sender need not send it again. */
export class ReceivedView {
  @ApiProperty({ example: true })
  received!: boolean;
}
