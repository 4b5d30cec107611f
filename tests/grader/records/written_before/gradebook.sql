BEGIN TRANSACTION;
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);
INSERT INTO "alembic_version" VALUES('e43177bfe90b');
CREATE TABLE assignment (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	duedate DATETIME, 
	course_id VARCHAR(128) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	FOREIGN KEY(course_id) REFERENCES course (id)
);
INSERT INTO "assignment" VALUES('213d7719abca41dea78fdca90b7a5712','00_start',NULL,'default_course');
CREATE TABLE base_cell (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	notebook_id VARCHAR(32) NOT NULL, 
	type VARCHAR(50), 
	PRIMARY KEY (id), 
	UNIQUE (name, notebook_id, type), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "base_cell" VALUES('c83e3bdb71094dd183dd7a6592d30768','start-pair_scores','89d53e54c87c48bc9ff01a8a81cff541','GradeCell');
INSERT INTO "base_cell" VALUES('a297b2fcffb04fffb1a3817a051f1edc','start-masked_mean','89d53e54c87c48bc9ff01a8a81cff541','GradeCell');
INSERT INTO "base_cell" VALUES('bdfe3a64cb6044ba8e51aa94ad96d890','start-log_sum_exp','89d53e54c87c48bc9ff01a8a81cff541','GradeCell');
INSERT INTO "base_cell" VALUES('d904305b0c8b46218784b6301253f052','start-loss_gradient','89d53e54c87c48bc9ff01a8a81cff541','GradeCell');
INSERT INTO "base_cell" VALUES('72c153fb94d94b4e89c3618797308b56','start-train','89d53e54c87c48bc9ff01a8a81cff541','GradeCell');
INSERT INTO "base_cell" VALUES('28eaa71cc9d6410286669a05431001c0','start-pair_scores-solution','89d53e54c87c48bc9ff01a8a81cff541','SolutionCell');
INSERT INTO "base_cell" VALUES('f3e1918aaed041eca94df6e56faa17eb','start-masked_mean-solution','89d53e54c87c48bc9ff01a8a81cff541','SolutionCell');
INSERT INTO "base_cell" VALUES('7451b9a5f4a645b7a2c5f4278109b89a','start-log_sum_exp-solution','89d53e54c87c48bc9ff01a8a81cff541','SolutionCell');
INSERT INTO "base_cell" VALUES('f07a909a23bc4c46875620c39fa938a8','start-loss_gradient-solution','89d53e54c87c48bc9ff01a8a81cff541','SolutionCell');
INSERT INTO "base_cell" VALUES('fda5787573cc4ac79bbeb736e39cf24b','start-train-solution','89d53e54c87c48bc9ff01a8a81cff541','SolutionCell');
CREATE TABLE comment (
	id VARCHAR(32) NOT NULL, 
	notebook_id VARCHAR(32), 
	cell_id VARCHAR(32), 
	auto_comment TEXT, 
	manual_comment TEXT, 
	PRIMARY KEY (id), 
	UNIQUE (cell_id, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES submitted_notebook (id), 
	FOREIGN KEY(cell_id) REFERENCES base_cell (id)
);
INSERT INTO "comment" VALUES('e11f8241fe014e299f8d09638cd8a71c','0b7d827b54f6490c97c8488c2d052c15','28eaa71cc9d6410286669a05431001c0',NULL,NULL);
INSERT INTO "comment" VALUES('a15565b2cd3141ad9b6e67cab324faed','0b7d827b54f6490c97c8488c2d052c15','f3e1918aaed041eca94df6e56faa17eb',NULL,NULL);
INSERT INTO "comment" VALUES('75b1de17891e479eaea91fa6c1b4df7b','0b7d827b54f6490c97c8488c2d052c15','7451b9a5f4a645b7a2c5f4278109b89a',NULL,NULL);
INSERT INTO "comment" VALUES('c82dbeb6b28d498ab94f2ea39d25cf7d','0b7d827b54f6490c97c8488c2d052c15','f07a909a23bc4c46875620c39fa938a8',NULL,NULL);
INSERT INTO "comment" VALUES('f6624a5e021e4204958edf65e24c93ed','0b7d827b54f6490c97c8488c2d052c15','fda5787573cc4ac79bbeb736e39cf24b',NULL,NULL);
CREATE TABLE course (
	id VARCHAR(128) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (id)
);
INSERT INTO "course" VALUES('default_course');
CREATE TABLE grade (
	id VARCHAR(32) NOT NULL, 
	notebook_id VARCHAR(32), 
	cell_id VARCHAR(32), 
	auto_score FLOAT, 
	manual_score FLOAT, 
	extra_credit FLOAT, 
	needs_manual_grade BOOLEAN NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (cell_id, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES submitted_notebook (id), 
	FOREIGN KEY(cell_id) REFERENCES base_cell (id)
);
INSERT INTO "grade" VALUES('51dbd62d7d3c4b61931a4a5658e7de2e','0b7d827b54f6490c97c8488c2d052c15','c83e3bdb71094dd183dd7a6592d30768',0.5,NULL,NULL,0);
INSERT INTO "grade" VALUES('f47f649898de469998d66d942e6fec49','0b7d827b54f6490c97c8488c2d052c15','a297b2fcffb04fffb1a3817a051f1edc',3.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('329cf7adca2d4b62a5189886a4411071','0b7d827b54f6490c97c8488c2d052c15','bdfe3a64cb6044ba8e51aa94ad96d890',3.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('fd576029280b4ad6b3dd3674ac84b218','0b7d827b54f6490c97c8488c2d052c15','d904305b0c8b46218784b6301253f052',0.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('75c4be640f814a29b7d2a6ca34ddaf1e','0b7d827b54f6490c97c8488c2d052c15','72c153fb94d94b4e89c3618797308b56',3.0,NULL,NULL,0);
CREATE TABLE grade_cells (
	id VARCHAR(32) NOT NULL, 
	max_score FLOAT NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
INSERT INTO "grade_cells" VALUES('c83e3bdb71094dd183dd7a6592d30768',2.0,'code');
INSERT INTO "grade_cells" VALUES('a297b2fcffb04fffb1a3817a051f1edc',3.0,'code');
INSERT INTO "grade_cells" VALUES('bdfe3a64cb6044ba8e51aa94ad96d890',3.0,'code');
INSERT INTO "grade_cells" VALUES('d904305b0c8b46218784b6301253f052',2.0,'code');
INSERT INTO "grade_cells" VALUES('72c153fb94d94b4e89c3618797308b56',3.0,'code');
CREATE TABLE notebook (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	assignment_id VARCHAR(32), 
	kernelspec VARCHAR(1024), 
	PRIMARY KEY (id), 
	UNIQUE (name, assignment_id), 
	FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);
INSERT INTO "notebook" VALUES('89d53e54c87c48bc9ff01a8a81cff541','00_start','213d7719abca41dea78fdca90b7a5712','{"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}');
CREATE TABLE solution_cells (
	id VARCHAR(32) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
INSERT INTO "solution_cells" VALUES('28eaa71cc9d6410286669a05431001c0');
INSERT INTO "solution_cells" VALUES('f3e1918aaed041eca94df6e56faa17eb');
INSERT INTO "solution_cells" VALUES('7451b9a5f4a645b7a2c5f4278109b89a');
INSERT INTO "solution_cells" VALUES('f07a909a23bc4c46875620c39fa938a8');
INSERT INTO "solution_cells" VALUES('fda5787573cc4ac79bbeb736e39cf24b');
CREATE TABLE source_cell (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	locked BOOLEAN NOT NULL, 
	source TEXT, 
	checksum VARCHAR(128), 
	notebook_id VARCHAR(32), 
	PRIMARY KEY (id), 
	UNIQUE (name, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "source_cell" VALUES('15d21f5f41674c33996cf261f87d37f0','start-pair_scores-solution','code',0,'def pair_scores(q: Tensor, k: Tensor, bias: Tensor) -> Tensor:
    """Scores of all pairs of query and key, with a bias for each key.

    Args:
        q: Queries (B, T, D).
        k: Keys (B, S, D).
        bias: Biases of the keys (B, S).

    Returns:
        Scores (B, T, S).
    """
    raise NotImplementedError','190004268e9869345715f3a006573229','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('8f3c8181733e4523a2afc4bb649ffcda','start-pair_scores','code',1,'check("start.pair_scores")','8788d1111ed4bf1cbea4a7baaf91213e','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('69df2643bde04c4c91eb37718cc2c635','start-masked_mean-solution','code',0,'def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Average the words of each sentence that count.

    Args:
        values: (B, S, D).
        mask: Boolean (B, S); True = counts.

    Returns:
        Averages (B, D); 0 where no word counts.
    """
    raise NotImplementedError','17bb50c0d6e71090bba310a1b448ad4b','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('c2b0f370554f46b5a3484389ea988811','start-masked_mean','code',1,'check("start.masked_mean")','acc6634940d3cf229c43428066d6b41b','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('21c88d46afa0475caaa1146fbbca3924','start-log_sum_exp-solution','code',0,'def log_sum_exp(scores: Tensor) -> Tensor:
    """The logarithm of the sum of exponentials over the last axis.

    Args:
        scores: (..., S), of any size; minus infinity is allowed.

    Returns:
        (...,); minus infinity where all scores are.
    """
    raise NotImplementedError','bcdbc2545241ad67207f9e34cf3eccb2','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('791c7eec1d1d49ef82742accb6d53486','start-log_sum_exp','code',1,'check("start.log_sum_exp")','d605ce2948784bd6a31009811244b392','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('c4bf7fea1000491fa86d8e32e9e20b58','start-loss_gradient-solution','code',0,'def loss_gradient(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of the mean squared error.

    Args:
        w: Weights (S,).
        x: Examples (B, S).
        y: Targets (B,).

    Returns:
        The derivative of the loss by each weight (S,).
    """
    raise NotImplementedError','f21eb86cb4a208bb0af50cf05ffbefb3','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('259e3b70c51b4154bfcfc4ba89c23f24','start-loss_gradient','code',1,'check("start.loss_gradient")','09c0b4c1e7eccd5899729d017a69cdb4','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('ca5e8c23cc2847b493c164a2469c2132','given-colleagues_train','code',1,'def colleagues_train(theta, x, y, steps, lr):
    """Each backward replaces the gradient of the one before."""
    theta = theta.clone().requires_grad_()
    optimizer = torch.optim.SGD([theta], lr=lr)
    for _ in range(steps):
        out = x @ theta.softmax(dim=-1)
        loss = ((out - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    return theta.detach()','25d2d00fffe6cd305d0de87c85064ba8','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('7b20b1b114ec4a9eac80cbfa03a12af4','start-train-solution','code',0,'def train(theta: Tensor, x: Tensor, y: Tensor, steps: int, lr: float) -> Tensor:
    """Fit the softmax of theta, as weights of x, to y, by plain gradient descent.

    Args:
        theta: Parameters to begin with (S,).
        x: Examples (B, S).
        y: Targets (B,).
        steps: Number of steps; each follows the gradient of the mean squared error over all examples.
        lr: How far a step goes, in multiples of the gradient.

    Returns:
        The parameters after these steps (S,).
    """
    raise NotImplementedError','3a715f609a74c4fcf0dba093dffbe353','89d53e54c87c48bc9ff01a8a81cff541');
INSERT INTO "source_cell" VALUES('7db8421ee0a34f56826c890105757bc2','start-train','code',1,'check("start.train")','06f8300d84fbaf5735ac487b554fee4b','89d53e54c87c48bc9ff01a8a81cff541');
CREATE TABLE student (
	id VARCHAR(128) NOT NULL, 
	first_name VARCHAR(128), 
	last_name VARCHAR(128), 
	email VARCHAR(128), 
	lms_user_id VARCHAR(128), 
	PRIMARY KEY (id)
);
INSERT INTO "student" VALUES('dan-mistaken',NULL,NULL,NULL,NULL);
CREATE TABLE submitted_assignment (
	id VARCHAR(32) NOT NULL, 
	assignment_id VARCHAR(32), 
	student_id VARCHAR(128), 
	timestamp DATETIME, 
	extension DATETIME, 
	PRIMARY KEY (id), 
	UNIQUE (assignment_id, student_id), 
	FOREIGN KEY(assignment_id) REFERENCES assignment (id), 
	FOREIGN KEY(student_id) REFERENCES student (id)
);
INSERT INTO "submitted_assignment" VALUES('ef60f6debc3b411c984b5ca9e36ab2f4','213d7719abca41dea78fdca90b7a5712','dan-mistaken',NULL,NULL);
CREATE TABLE submitted_notebook (
	id VARCHAR(32) NOT NULL, 
	assignment_id VARCHAR(32), 
	notebook_id VARCHAR(32), 
	flagged BOOLEAN, 
	late_submission_penalty FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (notebook_id, assignment_id), 
	FOREIGN KEY(assignment_id) REFERENCES submitted_assignment (id), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "submitted_notebook" VALUES('0b7d827b54f6490c97c8488c2d052c15','ef60f6debc3b411c984b5ca9e36ab2f4','89d53e54c87c48bc9ff01a8a81cff541',0,NULL);
CREATE TABLE task_cells (
	id VARCHAR(32) NOT NULL, 
	max_score FLOAT NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
COMMIT;
