import { ApiProperty } from '@nestjs/swagger';

/** What whoever holds a one-time link is told before they use it. */
export class OpenLinkView {
  @ApiProperty({ type: String, nullable: true, description: 'Whom it is for; null = whoever holds it.' })
  email!: string | null;

  @ApiProperty({ description: 'Name of the account that it opens.' })
  account!: string;
}
