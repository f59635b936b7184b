-- A journal of the first program that wrote one, as text. Never changed.
PRAGMA application_id = 1885696613;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE event (
        seq     INTEGER PRIMARY KEY,
        stream  BLOB    NOT NULL,
        version INTEGER NOT NULL,
        at      INTEGER NOT NULL,
        kind    TEXT    NOT NULL,
        form    INTEGER NOT NULL,
        payload TEXT    NOT NULL,
        hash    BLOB    NOT NULL
    ) STRICT;
INSERT INTO event VALUES(1,X'6e',1,1000002,'daemon-started',1,'{"epoch":1,"boot":"boot 0","version":"1"}',X'fcbe07fe96b1bc11223c4d051f001c661a9e45a92617009296b2d6b9e34ce5fc');
INSERT INTO event VALUES(2,X'6100000000000000000000000000000002',1,2000003,'hatched',1,'{"name":"name-0","role":null,"parent":null,"launch":{"harness":"command","host":"shim","argv":["/bin/true"],"dir":"/","env_names":[],"project":"/"},"restart":"on-crash","evidence":{"witness":"operator","fact":{"asked":"spawn"},"at":2000003},"until":302000003}',X'6ca8541f6c9def77b066299f4c4e6b82c73f789fe2c5a35a587cbf9ffb5963e4');
INSERT INTO event VALUES(3,X'6100000000000000000000000000000002',2,2000003,'session-wanted',1,'{"number":1}',X'c32f0f156d57dc37cbb159053d5ac9dfcb41e660ac3496261f92bd06761f31f9');
INSERT INTO event VALUES(4,X'6100000000000000000000000000000002',3,2000003,'session-starting',1,'{"number":1}',X'fe06163ff0059965188a63f2462b2a807bc896c2b26f24dbfbfcf46441a71e15');
INSERT INTO event VALUES(5,X'6100000000000000000000000000000002',4,3000004,'session-running',1,'{"number":1,"process":{"pid":100,"start_ticks":3000004}}',X'5e6a141769baeee6a1fd45e90e29e0aa313a716f6bf09926b48d318f8f5ebd11');
INSERT INTO event VALUES(6,X'6100000000000000000000000000000002',5,3000004,'moved',1,'{"cause":"announced","to":"working","reason":"running","evidence":{"witness":"kernel","fact":{"executed":{"pid":100,"start_ticks":3000004}},"at":3000004},"until":null}',X'9798bc7576e4161328b6abdf2cd8fabc2e764cc16082a1253cdf2e5d711b01eb');
INSERT INTO event VALUES(7,X'6100000000000000000000000000000004',1,4000005,'hatched',1,'{"name":"name-1","role":null,"parent":null,"launch":{"harness":"command","host":"shim","argv":["/bin/true"],"dir":"/","env_names":[],"project":"/"},"restart":"on-crash","evidence":{"witness":"operator","fact":{"asked":"spawn"},"at":4000005},"until":304000005}',X'4f5ee68993eff659d1eff2440d6756b32b079c9eb4a63c38af6e500f396bd254');
INSERT INTO event VALUES(8,X'6100000000000000000000000000000004',2,4000005,'session-wanted',1,'{"number":1}',X'fb6253d50e9f3b7c8eb3b255e3b677024d7c4ac53db5aa6732ae9a1126945a04');
INSERT INTO event VALUES(9,X'6100000000000000000000000000000004',3,4000005,'session-starting',1,'{"number":1}',X'545be138e503392ecd83ebdb60b18d4a6db55c692e9ad31ac08091df11f78421');
INSERT INTO event VALUES(10,X'6100000000000000000000000000000004',4,5000006,'session-running',1,'{"number":1,"process":{"pid":101,"start_ticks":5000006}}',X'e6464d8d1665f10a21982a683eb9e5687b7cdd3ebbe4807e2c0c3f12f9256e0a');
INSERT INTO event VALUES(11,X'6100000000000000000000000000000004',5,5000006,'moved',1,'{"cause":"announced","to":"working","reason":"running","evidence":{"witness":"kernel","fact":{"executed":{"pid":101,"start_ticks":5000006}},"at":5000006},"until":null}',X'710c0d68bae6d2ce22d4d1c36de1ec78507ea032cf538f05b2167d61e1593639');
INSERT INTO event VALUES(12,X'6100000000000000000000000000000004',6,25000007,'session-ended',1,'{"number":1,"exit":{"code":1}}',X'8b2c6c5afdbfe7a4a0f25e7f0803e379e6df9373fbc7a8086f099ff621b3fc8f');
INSERT INTO event VALUES(13,X'6100000000000000000000000000000004',7,25000007,'moved',1,'{"cause":"ended-crashed","to":"crashed","reason":"retrying","evidence":{"witness":"kernel","fact":{"exited":{"code":1}},"at":25000007},"until":25000007}',X'a45590f8151e27487fa1089dd8897d25a4aa665dac089dc738ae137fae27b5e6');
INSERT INTO event VALUES(14,X'6100000000000000000000000000000004',8,25000007,'moved',1,'{"cause":"retry","to":"waking","reason":"starting","evidence":{"witness":"kernel","fact":{"exited":{"code":1}},"at":25000007},"until":115000007}',X'c2959c5110634e201eedab900ba7b89aa67a4c002efeba40f747e63a630edaf8');
INSERT INTO event VALUES(15,X'6100000000000000000000000000000004',9,25000007,'session-wanted',1,'{"number":2}',X'c0af89159e523e0fd37fc6e6da7e49bd7f9de984837086a360f95dea1dd1bb13');
INSERT INTO event VALUES(16,X'6100000000000000000000000000000004',10,25000007,'session-starting',1,'{"number":2}',X'1fed518e943ec2d9dbf2ebb5f4df15a577b0d0bf234c064fd93a97b6095b622f');
INSERT INTO event VALUES(17,X'6100000000000000000000000000000002',6,26000008,'renamed',1,'{"name":"name-3"}',X'046459ef892ac1868572fb0426e77411d6e6be8c7902eab76d63cc1b114175c8');
INSERT INTO event VALUES(18,X'6100000000000000000000000000000004',11,27000009,'moved',1,'{"cause":"stop","to":"sleeping","reason":"stopped","evidence":{"witness":"operator","fact":{"asked":"stop"},"at":27000009},"until":null}',X'ee921ea627fdb8c906f20528a3e458db34ad6bbc82e8fdf49dd30158db315610');
INSERT INTO event VALUES(19,X'6100000000000000000000000000000004',12,27000009,'session-ending',1,'{"number":2,"pace":"graceful"}',X'85b8a3e2141de43e6a4c7f39f718f204451ad42513276b4da2544674500cbd5c');
INSERT INTO event VALUES(20,X'6100000000000000000000000000000009',1,28000010,'hatched',1,'{"name":"name-2","role":null,"parent":null,"launch":{"harness":"command","host":"shim","argv":["/bin/true"],"dir":"/","env_names":[],"project":"/"},"restart":"on-crash","evidence":{"witness":"operator","fact":{"asked":"spawn"},"at":28000010},"until":328000010}',X'c25112eeae89bab2798abe382454c0dfeee584ca5b2781201c23bae5e3cbbbad');
INSERT INTO event VALUES(21,X'6100000000000000000000000000000009',2,28000010,'session-wanted',1,'{"number":1}',X'b0bb820bcc34129ef419e920ae874987c231116a6f120c8daefb397a30455098');
INSERT INTO event VALUES(22,X'6100000000000000000000000000000009',3,28000010,'session-starting',1,'{"number":1}',X'4738cac37206bf86180c3bf419507c52fc618f58689a59ce0744b09977540f25');
CREATE TABLE quarantine (
        seq    INTEGER PRIMARY KEY,
        stream BLOB,
        kind   TEXT NOT NULL,
        form   INTEGER NOT NULL,
        why    TEXT NOT NULL
    ) STRICT;
CREATE TABLE mark (
        name TEXT PRIMARY KEY,
        seq  INTEGER NOT NULL,
        hash BLOB    NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO mark VALUES('covers',17,X'046459ef892ac1868572fb0426e77411d6e6be8c7902eab76d63cc1b114175c8');
INSERT INTO mark VALUES('verified',0,X'0000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE snapshot (
        stream  BLOB PRIMARY KEY,
        version INTEGER NOT NULL,
        form    TEXT    NOT NULL,
        state   TEXT    NOT NULL,
        seal    BLOB    NOT NULL
    ) STRICT;
INSERT INTO snapshot VALUES(X'6e',1,'0.1.0/1','{"epoch":1,"boot":"boot 0"}',X'c0f7af17cd516df251486561ae9b0c673ac719188e18a1e98492f441b78c3111');
INSERT INTO snapshot VALUES(X'6100000000000000000000000000000002',6,'0.1.0/1','{"id":2,"name":"name-3","named_at":26000008,"role":null,"parent":null,"launch":{"harness":"command","host":"Shim","argv":["/bin/true"],"dir":"/","env_names":[],"project":"/"},"restart":"OnCrash","state":"Working","reason":"Running","evidence":{"witness":"Kernel","fact":{"Executed":{"pid":100,"start_ticks":3000004}},"at":3000004},"since":3000004,"until":null,"session":{"number":1,"phase":"Running","process":{"pid":100,"start_ticks":3000004},"wanted_at":2000003,"started_at":3000004,"ended_at":null,"exit":null},"previous_exit":null,"history":{"restarts":[],"opened":0,"futile":0},"respawn_count":0,"created_at":2000003,"summary":null}',X'f595d353c0ff9a4231f134600569377ec467f9d50bbda3e0be7fd6606b15bd13');
INSERT INTO snapshot VALUES(X'6100000000000000000000000000000004',10,'0.1.0/1','{"id":4,"name":"name-1","named_at":4000005,"role":null,"parent":null,"launch":{"harness":"command","host":"Shim","argv":["/bin/true"],"dir":"/","env_names":[],"project":"/"},"restart":"OnCrash","state":"Waking","reason":"Starting","evidence":{"witness":"Kernel","fact":{"Exited":{"Code":1}},"at":25000007},"since":25000007,"until":115000007,"session":{"number":2,"phase":"Starting","process":null,"wanted_at":25000007,"started_at":null,"ended_at":null,"exit":null},"previous_exit":{"Code":1},"history":{"restarts":[25000007],"opened":0,"futile":0},"respawn_count":1,"created_at":4000005,"summary":null}',X'be802a6be14923dbea467fe042e0aee7a8d34d0c29e27ea3dd4ba7de02c2d124');
CREATE TABLE sample (
        agent         BLOB PRIMARY KEY,
        last_seen     INTEGER,
        last_activity INTEGER
    ) STRICT, WITHOUT ROWID;
INSERT INTO sample VALUES(X'00000000000000000000000000000002',7,-1);
CREATE TABLE roster (
        agent       BLOB PRIMARY KEY,
        name        TEXT,
        role        TEXT,
        parent      BLOB,
        project     TEXT    NOT NULL,
        state       TEXT    NOT NULL,
        roster      TEXT    NOT NULL,
        reason      TEXT    NOT NULL,
        since       INTEGER NOT NULL,
        session     INTEGER,
        updated_seq INTEGER NOT NULL
    ) STRICT;
CREATE UNIQUE INDEX event_by_stream ON event (stream, version);
COMMIT;
