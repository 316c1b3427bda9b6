"""The paper's post-processing, its plug-ins and the reduction that it is compared with."""
