# The hinge problems on which LIBLINEAR needs hours: min ½‖w‖² + C Σξ, s_i wᵀx_i + ξ_i ≥ 1, ξ ≥ 0 by Clarabel.
import numpy as np, scipy.sparse as sp, clarabel, sys
from load import load
def solve(name,C,j):
    X,Y=load(name); n,d=X.shape; Z=np.hstack([X,np.ones((n,1))])*(2*Y[:,[j]]-1); D=d+1
    P=sp.block_diag([sp.eye(D),sp.csc_matrix((n,n))],format="csc"); q=np.r_[np.zeros(D),np.full(n,C)]
    A=sp.bmat([[-sp.csc_matrix(Z),-sp.eye(n)],[None,-sp.eye(n)]],format="csc"); b=np.r_[-np.ones(n),np.zeros(n)]
    s=clarabel.DefaultSettings(); s.verbose=False; s.tol_gap_abs=1e-11; s.tol_gap_rel=1e-11; s.tol_feas=1e-11
    r=clarabel.DefaultSolver(P,q,A,b,[clarabel.NonnegativeConeT(2*n)],s).solve()
    print("#",name,C,j,r.status,file=sys.stderr)
    return np.array(r.x[:D])
for name,C,j in [("emotions",100,4)]+[("yeast",100,j) for j in range(14)]:
    w=solve(name,C,j); print(name,"hinge",C,j,*["%.7g"%v for v in w],sep=",",flush=True)
w=solve("emotions",100,5)
for l in open("liblinear.csv"):
    if l.startswith("emotions,hinge,100,5,"):
        v=np.array(l.split(",")[4:],float); print("check against LIBLINEAR", np.linalg.norm(v-w)/np.linalg.norm(w),file=sys.stderr)
